"""Java plugins of every kind that a connector may select, which call what Connect's API offers and write down each call
and its result, to compare workers line by line."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings

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

_HEAD = """
package transcript;

import java.io.*;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.*;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.connector.*;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.header.*;
import org.apache.kafka.connect.sink.*;
import org.apache.kafka.connect.source.*;
import org.apache.kafka.connect.storage.*;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
"""

_SOURCES = {
    "Transcript": """

/** Appends lines to a file: the part of the connector, and what it has to tell. */
public class Transcript {
    private final String part;
    private String file;

    Transcript(String part) { this.part = part; }
    void open(Map config) { file = (String) config.get("transcript"); }
    void tell(String text) {
        if (file == null) {
            return;
        }
        synchronized (Transcript.class) {
            try {
                Writer out = new OutputStreamWriter(new FileOutputStream(file, true), "UTF-8");
                out.write(part + "\\t" + text.replace('\\n', ' ') + "\\n");
                out.close();
            } catch (IOException e) { throw new RuntimeException(e); }
        }
    }
    void surroundings(Object plugin) {
        tell("loader " + (Thread.currentThread().getContextClassLoader() == plugin.getClass().getClassLoader())
            + " " + plugin.getClass().getClassLoader().getClass().getSimpleName());
    }
    void metrics(PluginMetrics metrics) {
        if (metrics == null) {
            tell("no metrics");
            return;
        }
        LinkedHashMap tags = new LinkedHashMap();
        tags.put("own", "1");
        org.apache.kafka.common.MetricName name = metrics.metricName("told", "Told", tags);
        tell("metric " + name.name() + " " + name.group() + " " + name.description() + " " + name.tags().keySet());
        Sensor sensor = metrics.addSensor("told");
        sensor.add(name, new org.apache.kafka.common.metrics.stats.CumulativeSum());
        sensor.record(2);
        try {
            metrics.addMetric(name, new Measurable() {
                public double measure(MetricConfig config, long now) { return 1; }
            });
            tell("metric twice");
        } catch (Exception e) { failed("metric", e); }
        try {
            metrics.addSensor("told");
            tell("sensor twice");
        } catch (Exception e) { failed("sensor", e); }
        metrics.removeSensor("told");
        try {
            metrics.removeMetric(name);
            tell("removed twice");
        } catch (Exception e) { failed("remove", e); }
    }
    void failed(String what, Throwable error) {
        tell(what + " failed: " + error.getClass().getName());
    }
    static String keys(Map config) { return new TreeSet(config.keySet()).toString(); }
    static ConfigDef definition() {
        return new ConfigDef().define("transcript", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "File");
    }
    static String text(ConnectRecord record) {
        return (record instanceof SinkRecord ? "sink " : "source ") + record.kafkaPartition()
            + " " + record.keySchema() + " "
            + record.key() + " " + record.valueSchema() + " " + record.value() + " " + (record.timestamp() != null)
            + " " + record.headers();
    }
}
""",
    "TellingSource": """
public class TellingSource extends SourceConnector {
    private final Transcript out = new Transcript("connector");
    private Map config;

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.surroundings(this);
        out.tell("start " + Transcript.keys(given));
        out.tell("context " + (context() instanceof SourceConnectorContext));
        OffsetStorageReader reader = ((SourceConnectorContext) context).offsetStorageReader();
        out.tell("offset " + reader.offset(Collections.singletonMap("p", "a")));
        out.tell("offsets " + reader.offsets(Collections.singletonList(Collections.singletonMap("p", "a"))));
        out.metrics(context.pluginMetrics());
    }
    public void stop() { out.tell("stop"); }
    public Class taskClass() { return TellingSourceTask.class; }
    public List taskConfigs(int most) {
        out.tell("taskConfigs " + most);
        return Collections.singletonList(config);
    }
    public ExactlyOnceSupport exactlyOnceSupport(Map given) {
        out.open(given);
        out.tell("exactlyOnceSupport");
        return ExactlyOnceSupport.SUPPORTED;
    }
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map given) {
        out.open(given);
        out.tell("canDefineTransactionBoundaries");
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
        out.tell("poll " + sent);
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

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.surroundings(this);
        out.tell("start " + Transcript.keys(given));
        out.tell("context " + (context() instanceof SinkConnectorContext));
        out.metrics(context.pluginMetrics());
    }
    public void stop() { out.tell("stop"); }
    public Class taskClass() { return TellingSinkTask.class; }
    public List taskConfigs(int most) {
        out.tell("taskConfigs " + most);
        return Collections.singletonList(config);
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
        out.tell("apply " + Transcript.text(record));
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
        out.tell("test " + Transcript.text(record));
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
        out.tell("from " + schema + " " + value);
        return value == null ? null : value.toString().getBytes();
    }
    public byte[] fromConnectData(String topic, org.apache.kafka.common.header.Headers headers, Schema schema,
            Object value) {
        out.tell("headers " + (headers == null ? null : String.valueOf(headers.toArray().length)));
        return fromConnectData(topic, schema, value);
    }
    public SchemaAndValue toConnectData(String topic, byte[] data) {
        out.tell("to " + (data == null ? null : new String(data)));
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


@lru_cache(maxsize=1)
def transcript_plugins() -> str:
    """A folder of `plugin.path` with the plugins."""
    given = settings()
    work = Path(tempfile.mkdtemp(prefix="headrace-transcript-"))
    sources = {f"transcript/{name}.java": _HEAD + text for name, text in _SOURCES.items()}
    return str(compile_sources(given.java, given.classpath, sources, work).parent)


def chain(file: Path) -> dict[str, str]:
    """The plugins of the chain, which write to this file."""
    options = ("key.converter", "value.converter", "header.converter", "transforms.telling", "predicates.holds")
    return {**CHAIN, **{f"{option}.transcript": str(file) for option in options}, "transcript": str(file)}


def read(file: Path) -> dict[str, list[str]]:
    """The lines of each part; a line that follows itself, as of commits, is left out."""
    parts: dict[str, list[str]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        part, _, text = line.partition("\t")
        parts.setdefault(part, []).append(text)
    return {part: [text for text, _ in groupby(lines)] for part, lines in parts.items()}
