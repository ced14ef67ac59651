"""Java plugins for tests that fail, count, and use what Connect's API offers beyond records."""

from __future__ import annotations

PROBES = {
    "probe/Orders.java": """
package probe;

import java.util.*;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.*;

/** Throws what a text asks for: "retry 2" twice, others always. */
public class Orders {
    private static final Map TRIES = new HashMap();

    public static void obey(String where, Object value) {
        String text = String.valueOf(value);
        if (!text.startsWith(where + ":")) {
            return;
        }
        String order = text.substring(where.length() + 1);
        if (order.startsWith("retry ")) {
            Integer tries = (Integer) TRIES.get(text);
            int before = tries == null ? 0 : tries.intValue();
            TRIES.put(text, Integer.valueOf(before + 1));
            if (before < Integer.parseInt(order.substring(6, 7))) {
                throw new RetriableException("try " + before);
            }
        } else if (order.equals("RetriableException")) {
            throw new RetriableException("again");
        } else if (order.equals("DataException")) {
            throw new DataException("bad data");
        } else if (order.equals("ConnectException")) {
            throw new ConnectException("bad state");
        } else if (order.equals("RuntimeException")) {
            throw new RuntimeException("bad code");
        } else if (order.equals("Error")) {
            throw new LinkageError("bad class");
        }
    }
}
""",
    "probe/OrderStep.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Obeys orders for its name, drops "drop:NAME", and appends its name to other texts. */
public class OrderStep implements Transformation, Monitorable {
    private String name;
    private int applied;

    public void configure(Map config) { name = (String) config.get("name"); }
    public void close() { System.setProperty("probe.closed." + name, "true"); }
    public ConfigDef config() { return new ConfigDef(); }
    public ConnectRecord apply(ConnectRecord record) {
        applied++;
        if (Thread.currentThread().getContextClassLoader() != getClass().getClassLoader()) {
            throw new IllegalStateException("context class loader");
        }
        Orders.obey(name, record.value());
        String text = (String) record.value();
        if (text.equals("drop:" + name)) {
            return null;
        }
        return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
            record.valueSchema(), text + "+" + name, record.timestamp(), record.headers());
    }
    public void withPluginMetrics(PluginMetrics metrics) {
        LinkedHashMap tags = new LinkedHashMap();
        tags.put("step-name", name);
        metrics.addMetric(metrics.metricName("applied-total", "Applied records", tags), new Gauge() {
            public Object value(MetricConfig config, long now) { return Integer.valueOf(applied); }
        });
    }
}
""",
    "probe/OrderPredicate.java": """
package probe;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Obeys orders for "p", and holds for texts without "skip". */
public class OrderPredicate implements Predicate {
    public void configure(Map config) { }
    public void close() { }
    public ConfigDef config() { return new ConfigDef(); }
    public boolean test(ConnectRecord record) {
        Orders.obey("p", record.value());
        return String.valueOf(record.value()).indexOf("skip") < 0;
    }
}
""",
    "probe/OrderConverter.java": """
package probe;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.storage.Converter;

/** Obeys orders for its name; other texts are themselves, with the count of conversions in front. */
public class OrderConverter implements Converter {
    private String name;
    private int count;

    public void configure(Map config, boolean isKey) { name = (String) config.get("name"); }
    public ConfigDef config() { return new ConfigDef(); }
    public void close() { System.setProperty("probe.closed." + name, "true"); }
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        count++;
        Orders.obey(name, value);
        return value == null ? null : (count + " " + value).getBytes();
    }
    public SchemaAndValue toConnectData(String topic, byte[] data) {
        count++;
        Orders.obey(name, data == null ? null : new String(data));
        return data == null ? SchemaAndValue.NULL
            : new SchemaAndValue(Schema.STRING_SCHEMA, count + " " + new String(data));
    }
}
""",
    "probe/HeaderedConverter.java": """
package probe;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.storage.Converter;

/** Writes the topic into a header, and reads the header "unit". */
public class HeaderedConverter implements Converter {
    public void configure(Map config, boolean isKey) { }
    public ConfigDef config() { return new ConfigDef(); }
    public byte[] fromConnectData(String topic, Schema schema, Object value) { throw new IllegalStateException(); }
    public SchemaAndValue toConnectData(String topic, byte[] data) { throw new IllegalStateException(); }
    public byte[] fromConnectData(String topic, Headers headers, Schema schema, Object value) {
        headers.add("topic", topic.getBytes());
        return String.valueOf(value).getBytes();
    }
    public SchemaAndValue toConnectData(String topic, Headers headers, byte[] data) {
        String unit = headers.lastHeader("unit") == null ? "" : new String(headers.lastHeader("unit").value());
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, new String(data) + unit);
    }
}
""",
    "probe/ApiSink.java": """
package probe;

import java.util.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.common.metrics.stats.CumulativeSum;
import org.apache.kafka.connect.sink.*;

/** Calls what the value of each record names. */
public class ApiSink extends SinkTask {
    private Sensor sensor;
    private SinkRecord held;
    private String mark;

    public String version() { return "1"; }
    public void start(Map config) {
        sensor = context.pluginMetrics().addSensor("sizes");
        sensor.add(context.pluginMetrics().metricName("size-total", "Sum", new LinkedHashMap()), new CumulativeSum());
    }
    public void stop() { }
    public void put(Collection records) {
        for (Iterator all = records.iterator(); all.hasNext();) {
            SinkRecord record = (SinkRecord) all.next();
            String order = (String) record.value();
            sensor.record(order.length());
            if (order.startsWith("load ")) {
                load(order.substring(5));
            } else if (order.equals("report created")) {
                SinkRecord created = new SinkRecord(record.topic(), record.kafkaPartition().intValue(), null, null,
                    null, "other", record.kafkaOffset());
                context.errantRecordReporter().report(created, new RuntimeException("created"));
            } else if (order.equals("report derived")) {
                context.errantRecordReporter().report(record.newRecord("x", record.kafkaPartition(), null, null, null,
                    "other", null), new RuntimeException("derived"));
            } else if (order.equals("pause")) {
                context.pause(new TopicPartition[] {new TopicPartition("elsewhere", 0)});
            } else if (order.equals("facts")) {
                throw new RuntimeException(context.configs() + " " + context.assignment());
            } else if (order.equals("twice")) {
                LinkedHashMap tags = new LinkedHashMap();
                tags.put("task", "1");
                context.pluginMetrics().metricName("n", "", tags);
            } else if (order.equals("interrupt")) {
                Thread.currentThread().interrupt();
                org.slf4j.LoggerFactory.getLogger("probe.Api").warn("logged by an interrupted thread");
            } else if (order.equals("remove")) {
                context.pluginMetrics().removeSensor("sizes");
            } else if (order.equals("hold")) {
                held = record;
            } else if (order.equals("report held")) {
                context.errantRecordReporter().report(held, new RuntimeException("held"));
            } else if (order.equals("collect")) {
                System.gc();
            } else if (order.startsWith("mark ")) {
                mark = order.substring(5);
            }
        }
    }
    public Map preCommit(Map offsets) {
        if (mark == null) {
            return offsets;
        }
        Map marked = new HashMap();
        for (Iterator all = offsets.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            long offset = ((OffsetAndMetadata) entry.getValue()).offset();
            marked.put(entry.getKey(), new OffsetAndMetadata(offset, mark));
        }
        return mark.equals("none") ? new HashMap() : marked;
    }
    private void load(String name) {
        try {
            Class found = Thread.currentThread().getContextClassLoader().loadClass(name);
            throw new RuntimeException(found.getName() + " by " + found.getClassLoader().getClass().getSimpleName());
        } catch (ClassNotFoundException missing) {
            throw new RuntimeException("not found");
        }
    }
}
""",
    "probe/ApiSource.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.source.*;

/** A record with what the context says. */
public class ApiSource extends SourceTask {
    public String version() { return "1"; }
    public void start(Map config) {
        PluginMetrics metrics = context.pluginMetrics();
        metrics.addMetric(metrics.metricName("answer", "All\\nof it", new LinkedHashMap()),
            new Gauge() { public Object value(MetricConfig config, long now) { return Long.valueOf(42); } });
    }
    public void stop() { }
    public List poll() {
        Map a = Collections.singletonMap("p", "a");
        Map b = Collections.singletonMap("p", "b");
        Map offsets = context.offsetStorageReader().offsets(Arrays.asList(new Object[] {a, b}));
        String text = context.configs() + " " + offsets.get(a) + " " + offsets.get(b) + " " + offsets.size()
            + " " + context.transactionContext();
        return Collections.singletonList(new SourceRecord(a, a, "t", null, text));
    }
}
""",
    "probe/ApiConnector.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.source.*;

/** Uses its context in start(). */
public class ApiConnector extends SourceConnector {
    public String version() { return "1"; }
    public void start(Map config) {
        SourceConnectorContext own = (SourceConnectorContext) context;
        Object offset = own.offsetStorageReader().offset(Collections.singletonMap("p", "a"));
        LinkedHashMap tags = new LinkedHashMap();
        tags.put("offset", String.valueOf(offset));
        context.pluginMetrics().addMetric(context.pluginMetrics().metricName("started", "", tags), new Measurable() {
            public double measure(MetricConfig config, long now) { return 1.5; }
        });
        context.requestTaskReconfiguration();
        context.raiseError(new IllegalStateException("raised"));
    }
    public void stop() { }
    public Class taskClass() { return ApiSource.class; }
    public List taskConfigs(int most) { return Collections.singletonList(new HashMap()); }
    public ConfigDef config() { return new ConfigDef(); }
}
""",
}
