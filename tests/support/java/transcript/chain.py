"""Connectors with their tasks, a transformation, a predicate and converters that call what Connect's API offers, and
write down each call and its result."""

from __future__ import annotations

from pathlib import Path

SINK, SOURCE = "transcript.TellingSink", "transcript.TellingSource"
CHAIN = {
    "key.converter": "transcript.TellingConverter",
    "value.converter": "transcript.TellingConverter",
    "header.converter": "transcript.TellingHeaderConverter",
    "transforms": "telling",
    "transforms.telling.type": "transcript.TellingStep",
    "transforms.telling.predicate": "holds",
    "predicates": "holds",
    "predicates.holds.type": "transcript.TellingPredicate",
}
"""The plugins of a connector's chain. Each has the option `transcript`: the file to write to."""

SOURCES = {
    "Orders": """
/** Does what is written into a file: requests that a connector makes of its worker. */
public class Orders extends Thread {
    private final File file;
    private final ConnectorContext context;
    private final Transcript out;
    private volatile int generation;

    Orders(Map config, ConnectorContext context, Transcript out) {
        this.file = new File(config.get("transcript") + ".order");
        this.context = context;
        this.out = out;
    }
    /** Those of a connector with one task; other ones after a change. */
    List taskConfigs(Map config) {
        Map task = new HashMap(config);
        if (generation > 0) {
            task.put("generation", String.valueOf(generation));
        }
        return Collections.singletonList(task);
    }
    public void run() {
        try {
            while (true) {
                Thread.sleep(50);
                if (file.exists()) {
                    BufferedReader in = new BufferedReader(new FileReader(file));
                    String order = in.readLine();
                    in.close();
                    file.delete();
                    out.context("order " + order);
                    obey(order);
                }
            }
        } catch (InterruptedException ended) {
        } catch (IOException e) { throw new RuntimeException(e); }
    }
    private void obey(String order) {
        if (order.equals("change")) {
            generation++;
        }
        if (order.equals("raise")) {
            context.raiseError(new org.apache.kafka.connect.errors.ConnectException("raised",
                new IllegalStateException("because")));
        } else {
            context.requestTaskReconfiguration();
        }
    }
}
""",
    "TellingSource": """
public class TellingSource extends SourceConnector {
    private final Transcript out = new Transcript("connector");
    private Map config;
    private Orders orders;

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.surroundings(this);
        out.thread(given);
        out.tell("start " + Transcript.keys(given));
        out.tell("context " + (context() instanceof SourceConnectorContext));
        OffsetStorageReader reader = ((SourceConnectorContext) context).offsetStorageReader();
        out.tell("offset " + reader.offset(Collections.singletonMap("p", "a")));
        out.tell("offsets " + reader.offsets(Collections.singletonList(Collections.singletonMap("p", "a"))));
        out.metrics(context.pluginMetrics());
        orders = new Orders(given, context, out);
        orders.start();
    }
    public void stop() {
        out.tell("stop");
        orders.interrupt();
    }
    public Class taskClass() { return TellingSourceTask.class; }
    public List taskConfigs(int most) {
        out.tell("taskConfigs " + most);
        return orders.taskConfigs(config);
    }
    public ExactlyOnceSupport exactlyOnceSupport(Map given) {
        out.open(given);
        out.context("exactlyOnceSupport");
        return ExactlyOnceSupport.SUPPORTED;
    }
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map given) {
        out.open(given);
        out.context("canDefineTransactionBoundaries");
        return ConnectorTransactionBoundaries.SUPPORTED;
    }
    public boolean alterOffsets(Map given, Map offsets) {
        out.open(given);
        out.surroundings(this);
        out.tell("alterOffsets " + offsets);
        return true;
    }
}
""",
    "TellingSourceTask": """
public class TellingSourceTask extends SourceTask {
    private final Transcript out = new Transcript("task");
    private final Transcript commits = new Transcript("commits");
    private Map config;
    private int sent;

    public String version() { return "1.5"; }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.surroundings(this);
        out.thread(given);
        out.tell("start " + Transcript.keys(given));
        out.tell("configs " + Transcript.keys(context.configs()));
        out.tell("transactions " + (context.transactionContext() != null));
        Map a = Collections.singletonMap("p", "a");
        out.tell("offset " + context.offsetStorageReader().offset(a));
        Map found = context.offsetStorageReader().offsets(Arrays.asList(new Object[] {a}));
        out.tell("offsets " + found);
        out.metrics(context.pluginMetrics());
        Object at = found.get(a) == null ? null : ((Map) found.get(a)).get("at");
        sent = at == null ? 0 : ((Long) at).intValue();
    }
    public List poll() throws InterruptedException {
        if (sent >= 4) {
            Thread.sleep(50);
            return null;
        }
        sent++;
        out.context("poll " + sent);
        Schema schema = SchemaBuilder.struct().name("s").version(3).doc("d").field("n", Schema.INT32_SCHEMA).build();
        Object value = sent == 3 ? null : (Object) new Struct(schema).put("n", Integer.valueOf(sent));
        Headers headers = new ConnectHeaders();
        headers.addString("text", "h").addLong("number", 5L).add("none", null, null);
        TransactionContext transactions = context.transactionContext();
        SourceRecord record = new SourceRecord(Collections.singletonMap("p", "a"),
            Collections.singletonMap("at", Long.valueOf(sent)), (String) config.get("topic"), Integer.valueOf(0),
            Schema.STRING_SCHEMA, "k" + sent, sent == 3 ? null : schema, value, Long.valueOf(1000), headers);
        if (transactions != null) {
            if (sent == 1) { transactions.commitTransaction(); }
            if (sent == 2) { transactions.abortTransaction(record); }
            if (sent == 4) { transactions.commitTransaction(record); }
        }
        return Collections.singletonList(record);
    }
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        commits.open(config);
        commits.tell("commitRecord " + record.sourceOffset() + " " + (metadata == null ? null
            : metadata.partition() + " "
            + metadata.serializedKeySize() + " " + metadata.serializedValueSize() + " " + metadata.hasOffset()
            + " " + metadata.hasTimestamp()));
    }
    public void commit() { out.tell("commit"); }
    public void stop() { out.tell("stop"); }
}
""",
    "TellingSink": """
public class TellingSink extends SinkConnector {
    private final Transcript out = new Transcript("connector");
    private Map config;
    private Orders orders;

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.surroundings(this);
        out.thread(given);
        out.tell("start " + Transcript.keys(given));
        out.tell("context " + (context() instanceof SinkConnectorContext));
        out.metrics(context.pluginMetrics());
        orders = new Orders(given, context, out);
        orders.start();
    }
    public void stop() {
        out.tell("stop");
        orders.interrupt();
    }
    public Class taskClass() { return TellingSinkTask.class; }
    public List taskConfigs(int most) {
        out.tell("taskConfigs " + most);
        return orders.taskConfigs(config);
    }
    public boolean alterOffsets(Map given, Map offsets) {
        out.open(given);
        out.surroundings(this);
        out.tell("alterOffsets " + offsets.values());
        return true;
    }
}
""",
    "TellingSinkTask": """

/** Records are orders. */
public class TellingSinkTask extends SinkTask {
    private final Transcript out = new Transcript("task");
    private boolean again;

    public String version() { return "1.5"; }
    public void start(Map given) {
        out.open(given);
        out.surroundings(this);
        out.thread(given);
        out.tell("start " + Transcript.keys(given));
        out.tell("configs " + Transcript.keys(context.configs()));
        out.tell("assignment " + context.assignment().size());
        out.tell("reporter " + (context.errantRecordReporter() != null));
        out.metrics(context.pluginMetrics());
    }
    public void open(Collection partitions) {
        out.tell("open " + partitions.size() + " of " + context.assignment().size());
    }
    public void close(Collection partitions) {
        out.tell("close " + partitions.size() + " of " + context.assignment().size());
    }
    public void put(Collection records) {
        if (!records.isEmpty()) { out.context("records"); }
        for (Iterator all = records.iterator(); all.hasNext();) {
            SinkRecord record = (SinkRecord) all.next();
            out.tell("put " + Transcript.text(record) + " "
                + (record instanceof org.apache.kafka.connect.runtime.InternalSinkRecord)
                + " " + record.timestampType() + " " + record.kafkaOffset()
                + " " + record.originalKafkaOffset() + " " + record.originalTopic().equals(record.topic()));
            try {
                order(record, String.valueOf(record.value()));
            } catch (RuntimeException e) { throw e; } catch (Exception e) { out.failed("order", e); }
        }
    }
    private void order(SinkRecord record, String order) throws Exception {
        TopicPartition own = new TopicPartition(record.topic(), record.kafkaPartition().intValue());
        TopicPartition[] other = new TopicPartition[] {new TopicPartition("elsewhere", 0)};
        if (order.equals("report")) {
            Future future = context.errantRecordReporter().report(record, new IllegalStateException("told"));
            out.tell("reported " + future.get() + " " + future.isDone() + " " + future.isCancelled());
        } else if (order.equals("pause")) {
            context.pause(new TopicPartition[] {own});
            context.resume(new TopicPartition[] {own});
            try { context.pause(other); out.tell("paused"); } catch (Exception e) { out.failed("pause", e); }
            try { context.resume(other); out.tell("resumed"); } catch (Exception e) { out.failed("resume", e); }
        } else if (order.equals("timeout")) {
            context.timeout(100);
            context.timeout(-1);
            context.requestCommit();
        } else if (order.equals("rewind") && !again) {
            again = true;
            context.offset(own, record.kafkaOffset());
        } else if (order.equals("retry") && !again) {
            again = true;
            context.timeout(100);
            throw new org.apache.kafka.connect.errors.RetriableException("again");
        } else if (order.equals("next")) {
            again = false;
        }
    }
    public void flush(Map offsets) { out.tell("flush " + offsets.values()); }
    public void stop() { out.tell("stop"); }
}
""",
    "TellingStep": """
public class TellingStep implements Transformation, org.apache.kafka.common.metrics.Monitorable {
    private final Transcript out = new Transcript("transformation");

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void configure(Map configs) {
        out.open(configs);
        out.tell("configure " + Transcript.keys(configs));
        out.surroundings(this);
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public ConnectRecord apply(ConnectRecord record) {
        out.context("apply " + Transcript.text(record));
        return record.value() != null && record.value().equals("drop") ? null : record;
    }
    public void close() { out.tell("close"); }
}
""",
    "TellingPredicate": """
public class TellingPredicate implements Predicate, org.apache.kafka.common.metrics.Monitorable {
    private final Transcript out = new Transcript("predicate");

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void configure(Map configs) {
        out.open(configs);
        out.tell("configure " + Transcript.keys(configs));
        out.surroundings(this);
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public boolean test(ConnectRecord record) {
        out.context("test " + Transcript.text(record));
        return true;
    }
    public void close() { out.tell("close"); }
}
""",
    "TellingConverter": """
public class TellingConverter implements Converter, org.apache.kafka.connect.components.Versioned,
        org.apache.kafka.common.metrics.Monitorable, java.io.Closeable {
    private Transcript out = new Transcript("");

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void configure(Map configs, boolean isKey) {
        out = new Transcript(isKey ? "key converter" : "value converter");
        out.open(configs);
        out.tell("configure " + Transcript.keys(configs));
        out.surroundings(this);
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        out.context("from " + schema + " " + value);
        return value == null ? null : value.toString().getBytes();
    }
    public byte[] fromConnectData(String topic, org.apache.kafka.common.header.Headers headers, Schema schema,
            Object value) {
        out.tell("headers " + (headers == null ? null : String.valueOf(headers.toArray().length)));
        return fromConnectData(topic, schema, value);
    }
    public SchemaAndValue toConnectData(String topic, byte[] data) {
        out.context("to " + (data == null ? null : new String(data)));
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, data == null ? null : new String(data));
    }
    public void close() { out.tell("close"); }
}
""",
    "TellingHeaderConverter": """
public class TellingHeaderConverter implements HeaderConverter, org.apache.kafka.connect.components.Versioned,
        org.apache.kafka.common.metrics.Monitorable {
    private final Transcript out = new Transcript("header converter");

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void configure(Map configs) {
        out.open(configs);
        out.tell("configure " + Transcript.keys(configs) + " " + configs.get("converter.type"));
        out.surroundings(this);
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public SchemaAndValue toConnectHeader(String topic, String key, byte[] data) {
        out.tell("to " + key + " " + (data == null ? null : new String(data)));
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, data == null ? null : new String(data));
    }
    public byte[] fromConnectHeader(String topic, String key, Schema schema, Object value) {
        out.tell("from " + key + " " + schema + " " + value);
        return value == null ? null : value.toString().getBytes();
    }
    public void close() { out.tell("close"); }
}
""",
}


def chain(file: Path) -> dict[str, str]:
    """The plugins of the chain, which write to this file."""
    options = ("key.converter", "value.converter", "header.converter", "transforms.telling", "predicates.holds")
    return {**CHAIN, **{f"{option}.transcript": str(file) for option in options}}
