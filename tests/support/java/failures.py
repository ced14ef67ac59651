"""Java connectors, converters, transformations and predicates that throw what their records ask for, as a jar."""

from __future__ import annotations

import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings
from tests.support.java.slots import APPENDING

_SOURCES = {
    "failures/Orders.java": """
package failures;

import java.util.*;
import org.apache.kafka.connect.errors.*;

/** "WHERE:EXCEPTION" throws each time at this place; "WHERE:twice" throws a RetriableException two times. */
final class Orders {
    private final Map tries = new HashMap();

    /** The attempts so far for this text, or 0 if it has no order for this place. */
    int obey(String where, Object given) {
        String text = String.valueOf(given);
        if (!text.startsWith(where + ":")) {
            return 0;
        }
        String order = text.substring(where.length() + 1);
        Integer before = (Integer) tries.get(text);
        int attempt = before == null ? 1 : before.intValue() + 1;
        tries.put(text, Integer.valueOf(attempt));
        String message = "thrown at " + where;
        if (order.equals("RetriableException") || order.equals("twice") && attempt < 3) {
            throw new RetriableException(message);
        } else if (order.equals("DataException")) {
            throw new DataException(message, new IllegalStateException("cause"));
        } else if (order.equals("ConnectException")) {
            throw new ConnectException(message);
        } else if (order.equals("RuntimeException")) {
            throw new RuntimeException(message);
        } else if (order.equals("Error")) {
            throw new LinkageError(message);
        }
        return attempt;
    }
}
""",
    "failures/FailingStep.java": """
package failures;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Obeys orders for "step" in values. */
public class FailingStep implements Transformation {
    private final Orders orders = new Orders();

    public void configure(Map config) { }
    public void close() { }
    public ConfigDef config() { return new ConfigDef(); }
    public ConnectRecord apply(ConnectRecord record) {
        orders.obey("step", record.value());
        return record;
    }
}
""",
    "failures/FailingPredicate.java": """
package failures;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Obeys orders for "predicate" in values, and holds for all records. */
public class FailingPredicate implements Predicate {
    private final Orders orders = new Orders();

    public void configure(Map config) { }
    public void close() { }
    public ConfigDef config() { return new ConfigDef(); }
    public boolean test(ConnectRecord record) {
        orders.obey("predicate", record.value());
        return true;
    }
}
""",
    "failures/FailingConverter.java": """
package failures;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** Strings; obeys orders for "key", "value" or "header", as which it is used. */
public class FailingConverter implements Converter, HeaderConverter {
    private final Orders orders = new Orders();
    private String where = "header";

    public void configure(Map config, boolean isKey) { where = isKey ? "key" : "value"; }
    public void configure(Map config) { }
    public ConfigDef config() { return new ConfigDef(); }
    public void close() { }
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        orders.obey(where, value);
        return value == null ? null : String.valueOf(value).getBytes();
    }
    public SchemaAndValue toConnectData(String topic, byte[] data) {
        String text = data == null ? null : new String(data);
        orders.obey(where, text);
        return new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, text);
    }
    public byte[] fromConnectHeader(String topic, String name, Schema schema, Object value) {
        return fromConnectData(topic, schema, value);
    }
    public SchemaAndValue toConnectHeader(String topic, String name, byte[] data) {
        return toConnectData(topic, data);
    }
}
""",
    "failures/FailingSink.java": """
package failures;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** One FailingSinkTask. */
public class FailingSink extends SinkConnector {
    private Map given;

    public String version() { return "1"; }
    public void start(Map config) { given = config; }
    public void stop() { }
    public Class taskClass() { return FailingSinkTask.class; }
    public List taskConfigs(int most) { return Collections.singletonList(given); }
    public ConfigDef config() {
        return new ConfigDef().define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where values go");
    }
}
""",
    "failures/FailingSinkTask.java": """
package failures;

import java.io.*;
import java.util.*;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.sink.*;

/** Obeys orders for "put" in values, reports records as "report:WHAT" says, and appends the others to a file. */
public class FailingSinkTask extends SinkTask {
    private final Orders orders = new Orders();
"""
    + APPENDING
    + """    public void put(Collection records) {
        for (Iterator all = records.iterator(); all.hasNext();) {
            SinkRecord record = (SinkRecord) all.next();
            String value = String.valueOf(record.value());
            if (value.startsWith("report:")) {
                report(record, value.substring(7));
                continue;
            }
            String line = record.key() + "|" + value;
            try {
                orders.obey("put", value);
            } catch (RuntimeException e) {
                write("attempt " + line);
                throw e;
            }
            write(line);
        }
    }
    private void report(SinkRecord record, String what) {
        SinkRecord bad = record;
        if (what.equals("created")) {
            bad = new SinkRecord("elsewhere", 3, Schema.STRING_SCHEMA, "made key", Schema.STRING_SCHEMA, "made",
                99L, record.timestamp(), record.timestampType());
            bad.headers().addString("made", "header");
        } else if (what.equals("bare")) {
            bad = new SinkRecord(record.topic(), 0, null, null, null, null, record.kafkaOffset());
        } else if (what.equals("derived")) {
            bad = record.newRecord("derived", Integer.valueOf(2), null, "new key", null, "new", null);
        }
        try {
            context.errantRecordReporter().report(bad, new IllegalArgumentException("reported " + what)).get();
        } catch (InterruptedException e) { throw new RuntimeException(e);
        } catch (java.util.concurrent.ExecutionException e) { throw new RuntimeException(e); }
    }
    private void write(String line) {
        try { out.write((line + "\\n").getBytes()); } catch (IOException e) { throw new RuntimeException(e); }
    }
}
""",
    "failures/FailingSource.java": """
package failures;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.*;

/** One task for each word in "orders". */
public class FailingSource extends SourceConnector {
    private Map given;

    public String version() { return "1"; }
    public void start(Map config) { given = config; }
    public void stop() { }
    public Class taskClass() { return FailingSourceTask.class; }
    public List taskConfigs(int most) {
        String[] words = ((String) given.get("orders")).split(" ");
        List all = new ArrayList();
        for (int i = 0; i < words.length; i++) {
            Map one = new HashMap(given);
            one.put("order", words[i]);
            all.add(one);
        }
        return all;
    }
    public ConfigDef config() {
        return new ConfigDef()
            .define("orders", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "What the tasks do")
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where records go");
    }
}
""",
    "failures/FailingSourceTask.java": """
package failures;

import java.util.*;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.*;

/** A record before that with the order, the one with it, and one behind it; "poll:" is obeyed between the first two. */
public class FailingSourceTask extends SourceTask {
    private final Orders orders = new Orders();
    private String order;
    private String topic;
    private int next;

    public String version() { return "1"; }
    public void start(Map config) {
        order = (String) config.get("order");
        topic = (String) config.get("topic");
    }
    public void stop() { }
    public List poll() throws InterruptedException {
        if (next == 0) {
            next = 1;
            return Collections.singletonList(record("before"));
        } else if (next == 1) {
            orders.obey("poll", order);
            next = 2;
            return Arrays.asList(new Object[] {record("first"), record(order), record("last")});
        }
        Thread.sleep(100);
        return null;
    }
    private SourceRecord record(String text) {
        ConnectHeaders headers = new ConnectHeaders();
        boolean all = text.startsWith("all:");
        String error = all ? text.substring(3) : "";
        headers.addString("h", all ? "header" + error : text);
        headers.addString("task", "of " + order);
        return new SourceRecord(Collections.singletonMap("order", order), Collections.singletonMap("at", text), topic,
            null, Schema.STRING_SCHEMA, all ? "key" + error : text, Schema.STRING_SCHEMA,
            all ? "value" + error : text, null, headers);
    }
}
""",
    "failures/CommittingSource.java": """
package failures;

/** Its task notes the calls of commit(). */
public class CommittingSource extends FailingSource {
    public Class taskClass() { return CommittingSourceTask.class; }
}
""",
    "failures/CommittingSourceTask.java": """
package failures;

import java.io.*;
import java.util.*;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.*;

/** A record and, after a commit or if the order is "pending", another one: too large if the order is "refused". */
public class CommittingSourceTask extends SourceTask {
    private Map config;
    private volatile int commits;
    private int next;

    public String version() { return "1"; }
    public void start(Map config) { this.config = config; }
    public void commit() {
        commits++;
        note("commit");
    }
    public void stop() { note("stop"); }
    public List poll() throws InterruptedException {
        String order = (String) config.get("order");
        if (next == 0) {
            next = 1;
            return record("before");
        } else if (next == 1 && (commits > 0 || order.equals("pending"))) {
            next = 2;
            note("poll");
            if (order.equals("raised")) {
                throw new RuntimeException("thrown at poll");
            }
            return record(order.equals("refused") ? new String(new char[2000000]) : order);
        }
        Thread.sleep(20);
        return null;
    }
    private List record(String text) {
        Map place = Collections.singletonMap("order", config.get("order"));
        return Collections.singletonList(new SourceRecord(place, Collections.singletonMap("at", Long.valueOf(next)),
            (String) config.get("topic"), Schema.STRING_SCHEMA, text));
    }
    private synchronized void note(String call) {
        try {
            FileOutputStream out = new FileOutputStream((String) config.get("file"), true);
            out.write((call + "\\n").getBytes("UTF-8"));
            out.close();
        } catch (IOException e) { throw new RuntimeException(e); }
    }
}
""",
}


@lru_cache(maxsize=1)
def failures() -> str:
    """The `plugin.path` with a folder that holds the jar of these plugins."""
    given = settings()
    work = Path(tempfile.mkdtemp(prefix="headrace-failures-"))
    classes = compile_sources(given.java, given.classpath, _SOURCES, work)
    folder = work / "plugins" / "failures"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "failures.jar", "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    return str(folder.parent)
