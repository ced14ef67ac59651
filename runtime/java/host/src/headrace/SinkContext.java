package headrace;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.IllegalWorkerStateException;
import org.apache.kafka.connect.runtime.WorkerSinkTaskContext;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * The context of a sink task. It is a subclass of Connect's own, because some connectors read that class's field
 * `consumer` by reflection, from it or from the class of the context.
 */
final class SinkContext extends WorkerSinkTaskContext implements ErrantRecordReporter {
    private static final String EXCEEDED = "Tolerance exceeded in error handler";

    final PutBatches batches = new PutBatches();
    private final Consumer consumer;
    private final int link;
    private final Control control;
    private final StartedTarget task;
    private final Set assignment = new HashSet();
    private final Set paused = new HashSet();
    private Map configs;
    private boolean reports;

    SinkContext(int link, Control control, StartedTarget task) {
        this(link, control, task, new SinkConsumer(link, control));
    }

    private SinkContext(int link, Control control, StartedTarget task, SinkConsumer calls) {
        super(calls.facade, null, null);
        this.consumer = calls.facade;
        this.link = link;
        this.control = control;
        this.task = task;
        calls.context = this;
    }

    void start(Map taskConfigs, boolean reportsErrors) {
        configs = taskConfigs;
        reports = reportsErrors;
    }

    void assign(Collection opened) {
        synchronized (assignment) {
            assignment.addAll(opened);
        }
    }

    void unassign(Collection closed) {
        synchronized (assignment) {
            assignment.removeAll(closed);
            paused.removeAll(closed);
        }
    }

    public Map configs() {
        return configs;
    }

    public void offset(Map offsets) {
        List wanted = new ArrayList();
        for (Iterator all = offsets.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            wanted.add(Partitions.triple((TopicPartition) entry.getKey(), ((Long) entry.getValue()).longValue()));
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

    public Set pausedPartitions() {
        synchronized (assignment) {
            return new HashSet(paused);
        }
    }

    public void pause(TopicPartition[] partitions) {
        List asked = checked(partitions);
        synchronized (assignment) {
            paused.addAll(java.util.Arrays.asList(partitions));
        }
        control.call(link, "pause", asked);
    }

    public void resume(TopicPartition[] partitions) {
        List asked = checked(partitions);
        synchronized (assignment) {
            paused.removeAll(java.util.Arrays.asList(partitions));
        }
        control.call(link, "resume", asked);
    }

    private List checked(TopicPartition[] partitions) {
        Set assigned = assignment();
        for (int i = 0; i < partitions.length; i++) {
            if (!assigned.contains(partitions[i])) {
                throw new IllegalWorkerStateException(
                    "The partition " + partitions[i] + " is not assigned to this task");
            }
        }
        return Partitions.pairs(java.util.Arrays.asList(partitions));
    }

    public void requestCommit() {
        control.call(link, "request_commit", null);
    }

    public PluginMetrics pluginMetrics() {
        return task.pluginMetrics();
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
            report.add(Partitions.triple(
                new TopicPartition(record.originalTopic(), record.originalKafkaPartition().intValue()),
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

    public String toString() {
        return "SinkContext of " + link;
    }
}
