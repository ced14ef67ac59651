package headrace;

import java.lang.ref.Reference;
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
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.sink.SinkTaskContext;

/** A sink task, and its context. */
final class SinkTaskTarget extends StartedTarget implements SinkTaskContext, ErrantRecordReporter {
    private static final String EXCEEDED = "Tolerance exceeded in error handler";

    private final SinkTask task;
    private final Set assignment = new HashSet();
    private final PutBatches batches = new PutBatches();
    private Map configs;
    private boolean reports;

    SinkTaskTarget(SinkTask task, int link, Control control) {
        super(link, control, "connector,task");
        this.task = task;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("put")) {
            long number = ((Long) arguments.get(1)).longValue();
            if (number == 0) { // records are not reported
                task.put(new RecordReader(batch).sink(null));
            } else {
                task.put(new RecordReader(batch).sink(batches.add(number)));
                return new Reply(batches.collected());
            }
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
            starts();
            task.initialize(this);
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
                OffsetAndMetadata offset = (OffsetAndMetadata) entry.getValue();
                List one = triple(partition, offset.offset());
                one.add(offset.metadata());
                found.add(one);
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

    public Future report(SinkRecord record, Throwable error) {
        List report = new ArrayList();
        if (record instanceof HostSinkRecord) {
            report.add(Long.valueOf(((HostSinkRecord) record).batch.number));
            report.add(Long.valueOf(((HostSinkRecord) record).place));
        } else { // a record that the plugin has created: found by its position in Kafka
            report.add(triple(new TopicPartition(record.originalTopic(), record.originalKafkaPartition().intValue()),
                record.originalKafkaOffset()));
            report.add(null);
        }
        report.add(Errors.describe(error));
        try {
            Object id = control.call(link, "report", report);
            Reference.reachabilityFence(record); // the worker keeps its batch until here
            return new Report(control, link, ((Long) id).longValue());
        } catch (ConnectException refused) {
            if (EXCEEDED.equals(refused.getMessage())) {
                throw new ConnectException(EXCEEDED, error);
            }
            throw refused;
        }
    }
}
