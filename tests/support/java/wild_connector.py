"""A Java connector that does what its configuration asks for."""

from __future__ import annotations

import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings

CLASS = "wild.WildConnector"

_SOURCES = {
    "wild/WildConnector.java": """
package wild;

import java.util.*;
import org.apache.kafka.common.config.*;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.*;

/**
 * Obeys "<method>=<order>": hang, spin (ignores interrupts), log, exit, memory, fail, unsupported; and "later=raise",
 * or "later=<file>", which ends the JVM as soon as the file exists.
 */
public class WildConnector extends SourceConnector {
    private Map config;

    public String version() { return String.valueOf(1 + 1); }
    public ConfigDef config() {
        return new ConfigDef().define("mark", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "A mark");
    }
    public Class taskClass() { return WildTask.class; }
    public void start(Map given) {
        config = given;
        obey(given, "start");
        if ("yes".equals(given.get("ask"))) {
            Object found = context().offsetStorageReader().offset(Collections.singletonMap("p", "x"));
            config = new HashMap(given);
            config.put("found", String.valueOf(found));
        }
        if (given.get("metric") != null) {
            java.util.LinkedHashMap tags = new java.util.LinkedHashMap();
            tags.put("unit", given.get("metric"));
            org.apache.kafka.common.metrics.Sensor sensor = context().pluginMetrics().addSensor("s");
            sensor.add(context().pluginMetrics().metricName("starts", "Starts", tags),
                new org.apache.kafka.common.metrics.stats.CumulativeCount());
            sensor.record();
        }
        if ("yes".equals(given.get("reconfigure"))) { context().requestTaskReconfiguration(); }
        if (given.get("later") != null) {
            final SourceConnectorContext own = context();
            Thread later = new Thread() {
                public void run() {
                    if (config.get("later").equals("raise")) {
                        own.raiseError(new IllegalStateException("raised later"));
                        return;
                    }
                    while (!new java.io.File((String) config.get("later")).exists()) {
                        try { Thread.sleep(20); } catch (InterruptedException e) { return; }
                    }
                    Runtime.getRuntime().halt(9);
                }
            };
            later.start();
        }
    }
    public List taskConfigs(int most) {
        obey(config, "taskConfigs");
        Map task = new HashMap(config);
        task.put("made.by", version());
        return Collections.singletonList(task);
    }
    public void stop() { if (config != null) { obey(config, "stop"); } }
    public Config validate(Map given) {
        obey(given, "validate");
        return super.validate(given);
    }
    public ExactlyOnceSupport exactlyOnceSupport(Map given) { return ExactlyOnceSupport.UNSUPPORTED; }
    public boolean alterOffsets(Map given, Map offsets) {
        obey(given, "alterOffsets");
        return "definite".equals(given.get("mark")) && offsets.size() == 1;
    }

    private static void obey(Map given, String method) {
        String order = (String) given.get(method);
        if (order == null) {
            return;
        } else if (order.equals("hang")) {
            try { Thread.sleep(600000); } catch (InterruptedException e) { throw new RuntimeException(e); }
        } else if (order.equals("spin")) {
            long end = System.currentTimeMillis() + 600000;
            while (System.currentTimeMillis() < end) {
                try { Thread.sleep(50); } catch (InterruptedException e) { }
            }
        } else if (order.equals("log")) {
            org.slf4j.LoggerFactory.getLogger("wild.Log").debug("a detail of {}", method);
        } else if (order.equals("exit")) {
            System.exit(3);
        } else if (order.equals("memory")) {
            List kept = new ArrayList();
            while (true) { kept.add(new long[1000000]); }
        } else if (order.equals("fail")) {
            throw new IllegalStateException(method + " failed as asked");
        } else if (order.equals("unsupported")) {
            throw new UnsupportedOperationException("not here");
        }
    }
}
""",
    "wild/WildTask.java": """
package wild;

import java.util.*;
import org.apache.kafka.connect.source.*;

/** Has no records. */
public class WildTask extends SourceTask {
    public String version() { return "2"; }
    public void start(Map config) { }
    public void stop() { }
    public List poll() throws InterruptedException { Thread.sleep(100); return null; }
}
""",
}


@lru_cache(maxsize=1)
def wild_plugins() -> Path:
    """A `plugin.path` with the connector."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-wild-"))
    _compile(_SOURCES, folder / "wild")
    return folder


def wild_plugins_of_two_versions(folder: Path) -> str:
    """A `plugin.path` with the connector and an older version of it, whose key is `old.mark`."""
    changes = {"String.valueOf(1 + 1)": '"1"', '"mark"': '"old.mark"'}
    older = dict(_SOURCES)
    for before, after in changes.items():
        older["wild/WildConnector.java"] = older["wild/WildConnector.java"].replace(before, after)
    _compile(older, folder / "wild-1")
    return f"{wild_plugins()},{folder}"


def _compile(sources: dict[str, str], target: Path) -> None:
    given, work = settings(), target.with_name(f"{target.name}-work")
    compile_sources(given.java, given.classpath, sources, work).rename(target)
    shutil.rmtree(work)
