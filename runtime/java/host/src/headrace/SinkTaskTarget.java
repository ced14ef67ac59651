package headrace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** A sink task, and its context. */
final class SinkTaskTarget implements Target, SinkTaskContext, ErrantRecordReporter {
    private final SinkTask task;
    private final Control control;
    private final int link;
    private final Set assignment = new HashSet();
    private Map configs;
    private boolean reports;
    private boolean started;

    SinkTaskTarget(SinkTask task, int link, Control control) {
        this.task = task;
        this.link = link;
        this.control = control;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("put")) {
            task.put(new RecordReader(batch).sink(((Long) arguments.get(1)).longValue()));
        } else if (name.equals("pre_commit")) {
            return new Reply(list(task.preCommit(offsets((List) arguments.get(1)))));
        } else if (name.equals("open")) {
            Collection opened = partitions((List) arguments.get(1));
            synchronized (assignment) {
                assignment.addAll(opened);
            }
            task.open(opened);
        } else if (name.equals("close")) {
            Collection closed = partitions((List) arguments.get(1));
            try {
                task.close(closed);
            } finally {
                synchronized (assignment) {
                    assignment.removeAll(closed);
                }
            }
        } else if (name.equals("start")) {
            configs = (Map) arguments.get(1);
            reports = Boolean.TRUE.equals(arguments.get(2));
            started = true;
            task.initialize(this);
            task.start(configs);
        } else if (name.equals("stop")) {
            started = false;
            task.stop();
        } else {
            throw new IllegalArgumentException("Unknown call " + name);
        }
        return Reply.NOTHING;
    }

    public void abandoned() {
        if (started) {
            task.stop();
        }
    }

    private static Collection partitions(List pairs) {
        List found = new ArrayList();
        for (Iterator all = pairs.iterator(); all.hasNext();) {
            List pair = (List) all.next();
            found.add(new TopicPartition((String) pair.get(0), ((Long) pair.get(1)).intValue()));
        }
        return found;
    }

    private static Map offsets(List triples) {
        Map found = new HashMap();
        for (Iterator all = triples.iterator(); all.hasNext();) {
            List one = (List) all.next();
            TopicPartition partition = new TopicPartition((String) one.get(0), ((Long) one.get(1)).intValue());
            found.put(partition, new OffsetAndMetadata(((Long) one.get(2)).longValue()));
        }
        return found;
    }

    private static List list(Map offsets) {
        List found = new ArrayList();
        if (offsets == null) {
            return found;
        }
        for (Iterator all = offsets.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            if (entry.getValue() != null) {
                TopicPartition partition = (TopicPartition) entry.getKey();
                found.add(triple(partition, ((OffsetAndMetadata) entry.getValue()).offset()));
            }
        }
        return found;
    }

    private static List triple(TopicPartition partition, long offset) {
        List one = new ArrayList();
        one.add(partition.topic());
        one.add(Long.valueOf(partition.partition()));
        one.add(Long.valueOf(offset));
        return one;
    }

    public Map configs() {
        return configs;
    }

    public void offset(Map offsets) {
        List wanted = new ArrayList();
        for (Iterator all = offsets.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            wanted.add(triple((TopicPartition) entry.getKey(), ((Long) entry.getValue()).longValue()));
        }
        control.call(link, "seek", wanted);
    }

    public void offset(TopicPartition partition, long offset) {
        Map one = new LinkedHashMap();
        one.put(partition, Long.valueOf(offset));
        offset(one);
    }

    public void timeout(long milliseconds) {
        control.call(link, "timeout", Long.valueOf(milliseconds));
    }

    public Set assignment() {
        synchronized (assignment) {
            return new HashSet(assignment);
        }
    }

    public void pause(TopicPartition[] partitions) {
        control.call(link, "pause", checked(partitions));
    }

    public void resume(TopicPartition[] partitions) {
        control.call(link, "resume", checked(partitions));
    }

    private List checked(TopicPartition[] partitions) {
        List found = new ArrayList();
        Set assigned = assignment();
        for (int i = 0; i < partitions.length; i++) {
            if (!assigned.contains(partitions[i])) {
                throw new org.apache.kafka.connect.errors.IllegalWorkerStateException(
                    "The partition " + partitions[i] + " is not assigned to this task");
            }
            List pair = new ArrayList();
            pair.add(partitions[i].topic());
            pair.add(Long.valueOf(partitions[i].partition()));
            found.add(pair);
        }
        return found;
    }

    public void requestCommit() {
        control.call(link, "request_commit", null);
    }

    public ErrantRecordReporter errantRecordReporter() {
        return reports ? this : null;
    }

    public PluginMetrics pluginMetrics() {
        return NoMetrics.INSTANCE;
    }

    public Future report(SinkRecord record, Throwable error) {
        if (!(record instanceof HostSinkRecord)) {
            throw new org.apache.kafka.connect.errors.ConnectException(
                "The record cannot be reported: it was not created by the worker");
        }
        HostSinkRecord own = (HostSinkRecord) record;
        List report = new ArrayList();
        report.add(Long.valueOf(own.batch));
        report.add(Long.valueOf(own.place));
        report.add(Errors.describe(error));
        return new Report(control, link, ((Long) control.call(link, "report", report)).longValue());
    }
}
