"""A task host JVM for tests, and small Java plugins that are compiled for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from runtime.api.data.record import SinkRecord
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.host.install import compile_sources, host_settings
from runtime.java.host.process import JvmSettings
from runtime.java.jvm.java import find_java
from runtime.java.plugins.sink_task import JavaSinkTask
from runtime.java.plugins.source_task import JavaSourceTask
from tests.support.java import probes as java_probes

FILE = "org.apache.kafka.connect.file.FileStream"

PROBES = {
    "org/apache/kafka/connect/own/Own.java": "package org.apache.kafka.connect.own;\n\npublic class Own { }\n",
    "probe/ProbeSink.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.*;

/** Does what the value of each record says. */
public class ProbeSink extends SinkTask {
    public String version() { return "7"; }
    public void start(Map config) { }
    public void stop() { }
    public void put(Collection records) {
        for (Iterator all = records.iterator(); all.hasNext();) {
            SinkRecord record = (SinkRecord) all.next();
            String order = (String) record.value();
            if (order.equals("hang")) {
                try { Thread.sleep(600000); } catch (InterruptedException e) { throw new RuntimeException(e); }
            } else if (order.equals("deaf")) {
                while (true) {
                    try { Thread.sleep(600000); } catch (InterruptedException ignored) { }
                }
            } else if (order.equals("exit")) {
                Runtime.getRuntime().exit(5);
            } else if (order.equals("retry")) {
                throw new org.apache.kafka.connect.errors.RetriableException("later");
            } else if (order.equals("fail")) {
                throw new IllegalStateException("broken", new RuntimeException("cause"));
            } else if (order.equals("report")) {
                try {
                    context.errantRecordReporter().report(record, new RuntimeException("bad")).get();
                } catch (Exception e) { throw new RuntimeException(e); }
            } else if (order.equals("context")) {
                TopicPartition own = new TopicPartition(record.topic(), record.kafkaPartition().intValue());
                context.offset(own, 42L);
                context.pause(new TopicPartition[] {own});
                context.resume(new TopicPartition[] {own});
                context.timeout(1500);
                context.requestCommit();
            } else if (order.equals("log")) {
                org.slf4j.LoggerFactory.getLogger("probe.Sink").warn("a {} line", "logged");
            } else if (order.equals("class")) {
                if (!(record instanceof org.apache.kafka.connect.runtime.InternalSinkRecord)) {
                    throw new RuntimeException("plain");
                }
                if (Thread.currentThread().getContextClassLoader() != getClass().getClassLoader()) {
                    throw new RuntimeException("loader");
                }
            }
        }
    }
}
""",
    "probe/ProbeSource.java": """
package probe;

import java.util.*;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.source.*;

/** Returns three records of two topics, then their committed positions as records. */
public class ProbeSource extends SourceTask {
    private final List seen = new ArrayList();
    private int polls;

    public String version() { return "8"; }
    public void start(Map config) { }
    public void stop() { }
    public List poll() {
        List records = new ArrayList();
        if (polls++ == 0) {
            for (int i = 0; i < 3; i++) {
                records.add(record("t" + i % 2, i % 2 == 0 ? (Object) "even" : (Object) Integer.valueOf(i), i));
            }
            if (context.transactionContext() != null) {
                context.transactionContext().commitTransaction((SourceRecord) records.get(1));
                context.transactionContext().abortTransaction();
            }
            return records;
        }
        records.add(record("seen", seen.toString(), 9));
        return records;
    }
    private SourceRecord record(String topic, Object value, long position) {
        return new SourceRecord(Collections.singletonMap("p", topic),
            Collections.singletonMap("at", Long.valueOf(position)), topic, null, null, value);
    }
    public void commit() { seen.add(context.offsetStorageReader().offset(Collections.singletonMap("p", "t0"))); }
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        seen.add(record.topic() + "@" + (metadata == null ? "dropped" : String.valueOf(metadata.offset())));
    }
}
""",
    "probe/ProbeConnector.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.*;

/** Starts ProbeSource. */
public class ProbeConnector extends SourceConnector {
    public String version() { return "9"; }
    public void start(Map config) { }
    public void stop() { }
    public Class taskClass() { return ProbeSource.class; }
    public List taskConfigs(int most) { return Collections.singletonList(new HashMap()); }
    public ConfigDef config() {
        return new ConfigDef().define("probe.size", ConfigDef.Type.INT, 5, ConfigDef.Importance.LOW, "");
    }
}
""",
    "probe/UnlicensedStep.java": """
package probe;

/** Cannot be created. */
public class UnlicensedStep extends ProbeStep {
    public UnlicensedStep() { throw new IllegalStateException("no license"); }
}
""",
    "probe/ProbeStep.java": """
package probe;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** A transformation with a validator and a recommender. */
public class ProbeStep implements Transformation, ConfigDef.Validator, ConfigDef.Recommender {
    public void configure(Map config) { }
    public void close() { throw new IllegalStateException("closed although it was not configured"); }
    public ConnectRecord apply(ConnectRecord record) { return record; }
    public void ensureValid(String name, Object value) {
        if (value != null && ((Integer) value).intValue() > 9) {
            throw new ConfigException(name, value, "too large");
        }
    }
    public List validValues(String name, Map parsed) {
        return Arrays.asList(new Object[] {parsed.get("step.size"), Integer.valueOf(3)});
    }
    public boolean visible(String name, Map parsed) { return false; }
    public ConfigDef config() {
        return new ConfigDef().define("step.size", ConfigDef.Type.INT, 5, this, ConfigDef.Importance.HIGH, "Size",
            "Steps", 1, ConfigDef.Width.SHORT, "Size", Collections.emptyList(), this);
    }
}
""",
    "probe/ReusingSource.java": """
package probe;

import java.util.*;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.source.*;

/** Returns the same list from each poll(), with one record less than before. */
public class ReusingSource extends SourceTask {
    private final List polled = new ArrayList(Collections.nCopies(4, null));
    private final List reported = new ArrayList();
    public String version() { return "1"; }
    public void start(Map config) { }
    public void stop() { }
    public List poll() {
        polled.remove(0);
        for (int i = 0; i < polled.size(); i++) {
            polled.set(i, new SourceRecord(null, null, "t", null, polled.size() + "." + i + reported));
        }
        return polled;
    }
    public void commitRecord(SourceRecord record, RecordMetadata metadata) { reported.add(record.value()); }
}
""",
    "probe/ProbeDriver.java": """
package probe;

import java.sql.*;
import java.util.*;

/** A JDBC driver that serves the location of its class. */
public class ProbeDriver implements Driver {
    static {
        try {
            DriverManager.registerDriver(new ProbeDriver());
        } catch (SQLException error) { throw new RuntimeException(error); }
    }
    private static String own() {
        return "jdbc:" + ProbeDriver.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    }
    public boolean acceptsURL(String url) { return url.equals(own()); }
    public Connection connect(String url, Properties settings) { return null; }
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties settings) { return null; }
    public int getMajorVersion() { return 1; }
    public int getMinorVersion() { return 0; }
    public boolean jdbcCompliant() { return false; }
    public java.util.logging.Logger getParentLogger() { return null; }
}
""",
    "probe/JdbcStep.java": """
package probe;

import java.util.*;

/** Needs a JDBC driver for the URL in its settings. */
public class JdbcStep extends ProbeStep {
    public void configure(Map config) {
        try {
            java.sql.DriverManager.getDriver((String) config.get("url"));
        } catch (java.sql.SQLException error) { throw new RuntimeException(error); }
    }
}
""",
    "probe/OptionalLibrary.java": "package probe;\n\npublic class OptionalLibrary { }\n",
    "probe/OptionalSource.java": """
package probe;

/** Has a method with a class that need not be there. */
public class OptionalSource extends ProbeSource {
    public void use(OptionalLibrary library) { }
}
""",
    "probe/OptionalConverter.java": """
package probe;

/** Has a method with a class that need not be there. */
public class OptionalConverter extends org.apache.kafka.connect.storage.StringConverter {
    public void use(OptionalLibrary library) { }
}
""",
    "probe/QuietSource.java": """
package probe;

import java.util.*;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.source.*;

/** Overrides commitRecord() with an empty method. */
public class QuietSource extends ProbeSource {
    public void commitRecord(SourceRecord record, RecordMetadata metadata) { }
}
""",
}


@lru_cache(maxsize=1)
def settings() -> JvmSettings:
    """Settings without a lease."""
    return host_settings(find_java())


@lru_cache(maxsize=1)
def shared_host() -> JavaHost:
    """A host for all tests of this process."""
    return JavaHost(settings())


@contextmanager
def own_host(host_settings: JvmSettings | None = None) -> Iterator[JavaHost]:
    """A host that the test may kill."""
    host = JavaHost(host_settings or settings())
    try:
        yield host
    finally:
        host.stop()


@lru_cache(maxsize=1)
def probes() -> Path:
    """The compiled probes, as a location of `plugin.path`."""
    work = Path(tempfile.mkdtemp(prefix="headrace-probes-"))
    given = settings()
    return compile_sources(given.java, given.classpath, {**PROBES, **java_probes.PROBES}, work)


def probe(name: str) -> JavaClass:
    """A probe by its simple name."""
    folder = str(probes())
    return JavaClass(f"probe.{name}", folder, [f"{folder}/"])


def sink_record(value: str) -> SinkRecord:
    """A record of the topic t."""
    return SinkRecord("t", 0, None, None, None, value, 5, 1000)


class FileSource(JavaSourceTask):
    """Kafka's FileStreamSourceTask, as a class that a task specification can name."""

    def __new__(cls) -> FileSource:
        return super().__new__(cls, shared_host(), JavaClass(f"{FILE}SourceTask"))  # type: ignore[return-value] # or its reporting form

    def __init__(self) -> None:
        super().__init__(shared_host(), JavaClass(f"{FILE}SourceTask"))


class FileSink(JavaSinkTask):
    """Kafka's FileStreamSinkTask, as a class that a task specification can name."""

    def __init__(self) -> None:
        super().__init__(shared_host(), JavaClass(f"{FILE}SinkTask"))
