package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** A source task, and its context. */
final class SourceTaskTarget extends StartedTarget implements SourceTaskContext, TransactionContext {
    private final SourceTask task;
    private final Thread thread = Thread.currentThread();
    private final boolean reported;
    private final Map unreported = new HashMap(); // batch number to records, until each has been reported
    private final Map left = new HashMap(); // batch number to the count of reports that are missing
    private final IdentityHashMap boundaries = new IdentityHashMap();
    private final List requests = new ArrayList();
    private Map configs;
    private boolean transactional;
    private boolean polling;
    private long batches;

    SourceTaskTarget(SourceTask task, int link, Control control) {
        super(link, control, "connector,task");
        this.task = task;
        this.reported = Overrides.commitRecord(task);
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("poll")) {
            return poll();
        } else if (name.equals("commit")) {
            task.commit();
        } else if (name.equals("records")) {
            commitRecords(arguments);
        } else if (name.equals("start")) {
            configs = (Map) arguments.get(1);
            transactional = Boolean.TRUE.equals(arguments.get(2));
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

    private Reply poll() throws InterruptedException {
        final List records;
        polling = true;
        try {
            records = task.poll();
        } finally {
            polling = false;
        }
        if (records == null || records.isEmpty()) {
            return new Reply(takeRequests(java.util.Collections.EMPTY_LIST));
        }
        batches++;
        if (reported) {
            unreported.put(Long.valueOf(batches), records);
            left.put(Long.valueOf(batches), Integer.valueOf(records.size()));
        }
        return new Records(takeRequests(records), records);
    }

    /** [count of records, batch number, [place, is a commit], ...]; the place -1 is the end of the batch. */
    private List takeRequests(List records) {
        List facts = new ArrayList();
        facts.add(Long.valueOf(records.size()));
        facts.add(Long.valueOf(batches));
        synchronized (boundaries) {
            for (int i = 0; i < records.size() && !boundaries.isEmpty(); i++) {
                Object commit = boundaries.remove(records.get(i));
                if (commit != null) {
                    facts.add(Integer.valueOf(i));
                    facts.add(commit);
                }
            }
            for (int i = 0; i < requests.size(); i++) {
                facts.add(Integer.valueOf(-1));
                facts.add(requests.get(i));
            }
            requests.clear();
        }
        return facts;
    }

    /** Columns of batch numbers, places, topics, partitions, offsets and timestamps; no topic: no metadata. */
    private void commitRecords(List columns) throws InterruptedException {
        List numbers = (List) columns.get(1);
        for (int i = 0; i < numbers.size(); i++) {
            Long number = (Long) numbers.get(i);
            List records = (List) unreported.get(number);
            if (records == null) {
                continue;
            }
            SourceRecord record = (SourceRecord) records.get(((Long) ((List) columns.get(2)).get(i)).intValue());
            int missing = ((Integer) left.get(number)).intValue() - 1;
            left.put(number, Integer.valueOf(missing));
            if (missing == 0) {
                unreported.remove(number);
                left.remove(number);
            }
            String topic = (String) ((List) columns.get(3)).get(i);
            RecordMetadata metadata = null;
            if (topic != null) {
                int partition = ((Long) ((List) columns.get(4)).get(i)).intValue();
                long offset = ((Long) ((List) columns.get(5)).get(i)).longValue();
                long time = ((Long) ((List) columns.get(6)).get(i)).longValue();
                metadata = new RecordMetadata(new TopicPartition(topic, partition), offset, 0, time, -1, -1);
            }
            try {
                task.commitRecord(record, metadata);
            } catch (RuntimeException error) {
                Log.emit("ERROR", task.getClass().getName(), "commitRecord() failed", error);
            }
        }
    }

    void stopPlugin() {
        task.stop();
    }

    public Map configs() {
        return configs;
    }

    public OffsetStorageReader offsetStorageReader() {
        return new LiveOffsets(link, control);
    }

    public TransactionContext transactionContext() {
        return transactional ? this : null;
    }

    public void commitTransaction() {
        request(Boolean.TRUE);
    }

    public void abortTransaction() {
        request(Boolean.FALSE);
    }

    public void commitTransaction(SourceRecord record) {
        synchronized (boundaries) {
            boundaries.put(record, Boolean.TRUE);
        }
    }

    public void abortTransaction(SourceRecord record) {
        synchronized (boundaries) {
            boundaries.put(record, Boolean.FALSE);
        }
    }

    private void request(Boolean commit) {
        if (Thread.currentThread() == thread && polling) {
            synchronized (boundaries) {
                requests.add(commit);
            }
        } else {
            control.call(link, "transaction", commit);
        }
    }

    /** The records of a poll. */
    static final class Records extends Reply {
        private final List records;

        Records(Object facts, List records) {
            super(facts);
            this.records = records;
        }

        void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
            new RecordWriter(out, columns, schemas).write(records);
        }
    }
}
