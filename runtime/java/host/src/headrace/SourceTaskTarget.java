package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
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
            records = withoutNulls(task.poll());
        } finally {
            polling = false;
        }
        if (records == null || records.isEmpty()) {
            return new Reply(takeRequests(java.util.Collections.EMPTY_LIST));
        }
        batches++;
        if (reported) {
            unreported.put(Long.valueOf(batches), new ArrayList(records)); // the task may use its list again
            left.put(Long.valueOf(batches), Integer.valueOf(records.size()));
        }
        return new Records(takeRequests(records), records);
    }

    /** Connect sends nothing for a null among the records, and reports it as it reports a dropped record. */
    private List withoutNulls(List polled) {
        if (polled == null) {
            return null;
        }
        List records = new ArrayList(polled.size());
        for (Iterator all = polled.iterator(); all.hasNext();) {
            Object record = all.next();
            if (record != null) {
                records.add(record);
            } else if (reported) {
                report(null, null);
            }
        }
        return records.size() == polled.size() ? polled : records;
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

    /** Columns of batch numbers, places, topics, partitions, offsets, timestamps, and sizes; no topic: no metadata. */
    private void commitRecords(List columns) {
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
                TopicPartition partition = new TopicPartition(topic, (int) number(columns, 4, i));
                metadata = new RecordMetadata(partition, number(columns, 5, i), 0, number(columns, 6, i),
                    (int) number(columns, 7, i), (int) number(columns, 8, i));
            }
            report(record, metadata);
        }
    }

    private static long number(List columns, int column, int row) {
        return ((Long) ((List) columns.get(column)).get(row)).longValue();
    }

    private void report(SourceRecord record, RecordMetadata metadata) {
        try {
            task.commitRecord(record, metadata);
        } catch (Exception error) {
            Log.emit("ERROR", task.getClass().getName(), "commitRecord() failed", error);
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
