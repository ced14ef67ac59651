"""Java connectors that write down what a worker calls, to compare workers: each line of their file is one call."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings

SINK, SOURCE = "journal.JournalSink", "journal.JournalSource"

_CONNECTOR = """
    private Map config;

    public String version() { return "1"; }
    public ConfigDef config() { return new ConfigDef(); }
    public void start(Map given) { config = given; Journal.write(given, "connector"); Journal.log(getClass()); }
    public void stop() { }
    public List taskConfigs(int most) {
        return Collections.nCopies(Math.min(most, Integer.parseInt((String) config.get("tasks.max"))), config);
    }
"""

_SOURCES = {
    "journal/Journal.java": """
package journal;

import java.io.*;
import java.util.*;

/** Appends lines to the file of a configuration: text, thread and connector.context. */
public class Journal {
    static synchronized void write(Map config, String text) {
        try {
            Writer out = new OutputStreamWriter(new FileOutputStream((String) config.get("journal"), true), "UTF-8");
            out.write(text + "\\t" + Thread.currentThread().getName() + "\\t"
                + org.slf4j.MDC.get("connector.context") + "\\n");
            out.close();
        } catch (IOException e) { throw new RuntimeException(e); }
    }
    static void log(Class from) {
        org.slf4j.LoggerFactory.getLogger(from).warn("a line of slf4j");
        java.util.logging.Logger jul = java.util.logging.Logger.getLogger(from.getName());
        jul.log(java.util.logging.Level.WARNING, "a line of {0}", "jul");
        jul.log(java.util.logging.Level.SEVERE, "a failure", new IllegalStateException("of jul"));
        jul.fine("a detail of jul");
    }
}
""",
    "journal/JournalSink.java": """
package journal;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.*;

public class JournalSink extends SinkConnector {
    public Class taskClass() { return JournalSinkTask.class; }
"""
    + _CONNECTOR
    + "}\n",
    "journal/JournalSource.java": """
package journal;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.*;

public class JournalSource extends SourceConnector {
    public Class taskClass() { return JournalSourceTask.class; }
    public ExactlyOnceSupport exactlyOnceSupport(Map given) { return ExactlyOnceSupport.SUPPORTED; }
"""
    + _CONNECTOR
    + "}\n",
    "journal/JournalSinkTask.java": """
package journal;

import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.sink.*;

/**
 * Records are orders: "pause" pauses all partitions until the second put() after it, "timeout N" calls timeout(N), and
 * "refuse" throws a RetriableException at the next empty put().
 */
public class JournalSinkTask extends SinkTask {
    private Map config;
    private int resumeAfter = -1;
    private boolean refuses;

    public String version() { return "1"; }
    public void start(Map given) { config = given; Journal.write(config, "start"); Journal.log(getClass()); }
    public void stop() { Journal.write(config, "stop"); }
    public void open(Collection partitions) { Journal.write(config, "open " + partitions.size()); }
    public void put(Collection records) {
        Journal.write(config, "put " + records.size());
        if (resumeAfter >= 0 && resumeAfter-- == 0) {
            context.resume(own());
        }
        if (records.isEmpty() && refuses) {
            refuses = false;
            throw new org.apache.kafka.connect.errors.RetriableException("refused");
        }
        for (Iterator all = records.iterator(); all.hasNext();) {
            String order = String.valueOf(((SinkRecord) all.next()).value());
            if (order.equals("pause")) {
                context.pause(own());
                resumeAfter = 1;
            } else if (order.startsWith("timeout ")) {
                context.timeout(Long.parseLong(order.substring(8)));
            } else if (order.equals("refuse")) {
                refuses = true;
            }
        }
    }
    private TopicPartition[] own() {
        return (TopicPartition[]) context.assignment().toArray(new TopicPartition[0]);
    }
    public Map preCommit(Map offsets) {
        Journal.write(config, "preCommit");
        return offsets;
    }
}
""",
    "journal/JournalSourceTask.java": """
package journal;

import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.*;

/** Sends three records once; `offset` is bytes, buffer, list or number, and `nulls` a null between the records. */
public class JournalSourceTask extends SourceTask {
    private Map config;
    private boolean sent;

    public String version() { return "1"; }
    public void start(Map given) {
        config = given;
        Journal.write(config, "start");
        Journal.log(getClass());
        Map found = context.offsetStorageReader().offset(partition());
        Object at = found == null ? null : found.get("at");
        Journal.write(config, "offset " + (at == null ? null : at.getClass().getSimpleName() + " " + at));
        sent = found != null;
    }
    public void stop() { Journal.write(config, "stop"); }
    public List poll() throws InterruptedException {
        if (sent) {
            Thread.sleep(100);
            return null;
        }
        sent = true;
        List records = new ArrayList();
        for (int i = 0; i < 3; i++) {
            if ("true".equals(config.get("nulls")) && i == 1) {
                records.add(null);
            }
            records.add(new SourceRecord(partition(), Collections.singletonMap("at", offset(i)),
                (String) config.get("topic"), Integer.valueOf(0), i == 2 ? null : Schema.STRING_SCHEMA,
                i == 2 ? null : "key " + i, Schema.STRING_SCHEMA, "value " + i));
        }
        return records;
    }
    private Map partition() {
        return "bytes".equals(config.get("offset")) ? Collections.singletonMap("p", (Object) new byte[] {1, -1})
            : Collections.singletonMap("p", (Object) "x");
    }
    private Object offset(int i) {
        String kind = (String) config.get("offset");
        byte[] bytes = new byte[] {(byte) i, -1, -2};
        return "bytes".equals(kind) ? (Object) bytes : "buffer".equals(kind) ? (Object) ByteBuffer.wrap(bytes)
            : "list".equals(kind) ? (Object) Collections.singletonList("x")
            : "decimal".equals(kind) ? (Object) new java.math.BigDecimal("1.5") : (Object) Long.valueOf(i);
    }
    public void commit() { Journal.write(config, "commit"); }
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        Journal.write(config, "record " + (record == null ? null : record.value()) + " " + (metadata == null ? null
            : metadata.serializedKeySize() + " " + metadata.serializedValueSize()));
    }
}
""",
}


@lru_cache(maxsize=1)
def journal_plugins() -> str:
    """A folder of `plugin.path` with the connectors."""
    given = settings()
    work = Path(tempfile.mkdtemp(prefix="headrace-journal-"))
    return str(compile_sources(given.java, given.classpath, _SOURCES, work).parent)


class Journal:
    """What a connector and its tasks have written down: a text for each call."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def lines(self, thread: str = "") -> list[tuple[str, str, str]]:
        """Text, thread and connector.context of each call, in their order; only those of a thread."""
        text = self.file.read_text() if self.file.exists() else ""
        lines = [line.split("\t") for line in text.splitlines() if line.count("\t") == 2]
        return [(call, name, context) for call, name, context in lines if thread in ("", name)]

    def calls(self, task: int = 0) -> str:
        """The calls of a task, a line for each. The journal is named after its connector."""
        return "".join(f"{call}\n" for call, _, _ in self.lines(f"task-thread-{self.file.name}-{task}"))
