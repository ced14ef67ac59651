"""A source and a sink in Java that fail where their configurations say."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path
from typing import Any

from runtime.java.host.install import compile_sources
from tests.support.java.host import settings

_CONNECTOR = """
    private Map config;

    public String version() { return "1"; }
    public void start(Map given) { config = given; fail("start"); }
    public void stop() { fail("stop"); }
    public ConfigDef config() {
        return new ConfigDef()
            .define("fails", ConfigDef.Type.LIST, "", ConfigDef.Importance.LOW, "Methods that fail.")
            .define("alter", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "The result of alterOffsets().")
            .define("count", ConfigDef.Type.INT, Integer.valueOf(-1), ConfigDef.Importance.LOW, "The number of tasks.");
    }
    public List taskConfigs(int most) {
        fail("taskConfigs");
        String count = (String) config.get("count");
        List configs = new ArrayList();
        for (int i = 0; i < (count == null ? most : Integer.parseInt(count)); i++) {
            Map task = new HashMap(config);
            task.put("number", String.valueOf(i));
            configs.add(task);
        }
        return configs;
    }
    private void fail(String method) {
        String fails = (String) config.get("fails");
        if (fails != null && Arrays.asList(fails.split(",")).contains(method)) {
            throw new ConnectException("failed in " + method);
        }
    }
    public boolean alterOffsets(Map given, Map offsets) {
        String alter = (String) given.get("alter");
        if ("refuse".equals(alter)) {
            throw new ConnectException("refused");
        } else if ("unsupported".equals(alter)) {
            throw new UnsupportedOperationException("not supported");
        } else if ("broken".equals(alter)) {
            throw new IllegalStateException("broken");
        }
        return "true".equals(alter);
    }
"""
_TASK = """
    private Map config;

    public String version() { return "1"; }
    public void start(Map given) { config = given; fail("task.start"); }
    public void stop() { fail("task.stop"); }
    private void fail(String method) {
        String fails = (String) config.get("fails"), number = (String) config.get("number");
        List methods = fails == null ? new ArrayList() : Arrays.asList(fails.split(","));
        if (methods.contains(method) || methods.contains(method + number)) {
            throw new ConnectException("failed in " + method);
        }
    }
"""
_IMPORTS = """
import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
"""
_SOURCES = {
    "steps/StepSource.java": f"""
package steps;
{_IMPORTS}
import org.apache.kafka.connect.source.*;

public class StepSource extends SourceConnector {{
    public Class taskClass() {{ return StepSourceTask.class; }}
{_CONNECTOR}
}}
""",
    "steps/StepSink.java": f"""
package steps;
{_IMPORTS}
import org.apache.kafka.connect.sink.*;

public class StepSink extends SinkConnector {{
    public Class taskClass() {{ return StepSinkTask.class; }}
{_CONNECTOR}
}}
""",
    "steps/StepSourceTask.java": f"""
package steps;
{_IMPORTS}
import org.apache.kafka.connect.source.*;

/** Sends three records. */
public class StepSourceTask extends SourceTask {{
{_TASK}
    public List poll() throws InterruptedException {{
        fail("task.poll");
        Map partition = Collections.singletonMap("task", config.get("number"));
        Map offset = context.offsetStorageReader().offset(partition);
        if (offset != null || sent) {{
            Thread.sleep(20);
            return null;
        }}
        sent = true;
        List records = new ArrayList();
        for (int i = 0; i < 3; i++) {{
            records.add(new SourceRecord(partition, Collections.singletonMap("at", Integer.valueOf(i)),
                (String) config.get("topic"), Integer.valueOf(0), Schema.STRING_SCHEMA, "r" + i));
        }}
        return records;
    }}
    private boolean sent;
}}
""",
    "steps/StepSinkTask.java": f"""
package steps;
{_IMPORTS}
import org.apache.kafka.connect.sink.*;

public class StepSinkTask extends SinkTask {{
{_TASK}
    public void put(Collection records) {{
        if (!records.isEmpty()) {{ fail("task.put"); }}
    }}
}}
""",
}
# docs/differences.md describes what happens after failures of taskConfigs() and stop(), and with too many tasks
_FAILURES = ("start", "task.start", "task.start1", "task.poll0", "task.put", "task.put1", "task.stop")


def plugin_folder(folder: Path) -> Path:
    """A folder of `plugin.path` with the jar of both connectors."""
    given = settings()
    classes = compile_sources(given.java, given.classpath, _SOURCES, folder)
    plugins = folder / "plugins"
    (plugins / "steps").mkdir(parents=True)
    with zipfile.ZipFile(plugins / "steps" / "steps.jar", "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
        for kind in ("source.SourceConnector", "sink.SinkConnector"):
            name = "steps.StepSource" if kind.startswith("source") else "steps.StepSink"
            jar.writestr(f"META-INF/services/org.apache.kafka.connect.{kind}", name + "\n")
    return plugins


def changes(rng: random.Random) -> dict[str, Any]:
    """Keys that decide what fails."""
    failures = rng.sample(_FAILURES, rng.choice((0, 0, 1, 1, 2)))
    config = {
        "fails": ",".join(failures), "alter": rng.choice(("", "true", "true", "refuse", "unsupported", "broken")),
        "count": rng.choice((None, None, "0", "1", "2")),
    }  # fmt: skip
    return {key: value for key, value in config.items() if value}
