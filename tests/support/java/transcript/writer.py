"""The class with which plugins write down their calls, the folder of `plugin.path` with all of them, and a reader of
what they wrote."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings
from tests.support.java.transcript import chain, unruly, worker_plugins

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

_TRANSCRIPT = """
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
        context("context");
    }
    /** The diagnostic context, without the name of the connector. */
    void context(String call) {
        String context = org.slf4j.MDC.get("connector.context");
        tell(call + " in " + (context == null ? null : context.replaceFirst("\\\\[[^|]*", "[NAME")));
    }
    /** The thread of a connector or task, without the name of the connector. */
    void thread(Map config) {
        Thread thread = Thread.currentThread();
        tell("thread " + thread.getName().replace((String) config.get("name"), "NAME") + " " + thread.isDaemon());
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
"""


@lru_cache(maxsize=1)
def transcript_plugins() -> str:
    """A folder of `plugin.path` with the plugins."""
    given = settings()
    work = Path(tempfile.mkdtemp(prefix="headrace-transcript-"))
    sources = {"Transcript": _TRANSCRIPT, **chain.SOURCES, **worker_plugins.SOURCES, **unruly.SOURCES}
    files = {f"transcript/{name}.java": _HEAD + text for name, text in sources.items()}
    classes = compile_sources(given.java, given.classpath, files, work)
    services = classes / "META-INF" / "services"
    services.mkdir(parents=True)
    for interface, name in worker_plugins.SERVICES.items():
        (services / interface).write_text(f"{name}\n")
    return str(work)


def read(file: Path) -> dict[str, list[str]]:
    """The lines of each part; a line that follows itself, as of commits, is left out."""
    parts: dict[str, list[str]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        part, _, text = line.partition("\t")
        parts.setdefault(part, []).append(text)
    return {part: [text for text, _ in groupby(lines)] for part, lines in parts.items()}
