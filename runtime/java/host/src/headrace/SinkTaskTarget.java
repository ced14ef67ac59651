package headrace;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink task. */
final class SinkTaskTarget extends StartedTarget {
    private final SinkTask task;
    private final SinkContext context;

    SinkTaskTarget(SinkTask task, int link, Control control) {
        super(link, control, "connector,task");
        this.task = task;
        this.context = new SinkContext(link, control, this);
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("put")) {
            long number = ((Long) arguments.get(1)).longValue();
            if (number == 0) { // records are not reported
                task.put(new RecordReader(batch).sink(null));
            } else {
                task.put(new RecordReader(batch).sink(context.batches.add(number)));
                return new Reply(context.batches.collected());
            }
        } else if (name.equals("pre_commit")) {
            return new Reply(Partitions.list(task.preCommit(Partitions.offsets((List) arguments.get(1)))));
        } else if (name.equals("open")) {
            Collection opened = Partitions.of((List) arguments.get(1));
            context.assign(opened);
            task.open(opened);
        } else if (name.equals("close")) {
            Collection closed = Partitions.of((List) arguments.get(1));
            try {
                task.close(closed);
            } finally {
                context.unassign(closed);
            }
        } else if (name.equals("start")) {
            Map configs = (Map) arguments.get(1);
            context.start(configs, Boolean.TRUE.equals(arguments.get(2)));
            starts();
            task.initialize(context);
            task.start(configs);
        } else if (name.equals("stop")) {
            stop();
        } else {
            throw new IllegalArgumentException("Unknown call " + name);
        }
        return Reply.NOTHING;
    }

    void stopPlugin() {
        task.stop();
    }
}
