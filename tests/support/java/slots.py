"""Java tasks in real Spark slots, without a worker: an engine whose lost tasks are started again, and Java plugins that
do what their records say."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from runtime.engine.port import SlotInfo, TaskStack
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.java.host.install import compile_sources
from runtime.java.target import JavaTarget
from runtime.model.states import ConnectorType, State, TaskId
from runtime.model.task_spec import SourceOffset, TaskSpec
from tests.support.broker import KafkaBroker
from tests.support.engine.engine_recorder import Recorder
from tests.support.java.host import FILE, settings
from tests.support.processes import alive, children, command_line
from tests.support.tasks.pipeline import source_offsets
from tests.support.waiting import wait_until

T = TypeVar("T")

LEASE = 6.0
"""Seconds, of the slots."""

APPENDING = """
    private OutputStream out;

    public String version() { return "1"; }
    public void start(Map config) {
        try { out = new FileOutputStream((String) config.get("file"), true); } catch (IOException e) {
            throw new RuntimeException(e);
        }
    }
    public void stop() {
        try { out.close(); } catch (IOException e) { throw new RuntimeException(e); }
    }
"""
"""The life of a sink task that appends to `file`."""

_SOURCES = {
    "slots/Orders.java": """
package slots;

import java.io.*;
import java.util.*;

/** Orders in values: "ORDER" is carried out each time, "ORDER MARKER" only if the file MARKER does not exist yet. */
final class Orders {
    static void obey(String value) {
        String[] words = value.split(" ");
        if (words.length > 1) {
            try {
                if (!new File(words[1]).createNewFile()) { return; }
            } catch (IOException e) { throw new RuntimeException(e); }
        }
        if (words[0].equals("!exit")) {
            System.exit(7);
        } else if (words[0].equals("!memory")) {
            List all = new ArrayList();
            while (true) { all.add(new byte[1 << 20]); }
        } else if (words[0].equals("!hang")) {
            try { Thread.sleep(600000); } catch (InterruptedException e) { throw new RuntimeException(e); }
        } else if (words[0].equals("!deaf")) {
            while (true) {
                try { Thread.sleep(600000); } catch (InterruptedException ignored) { }
            }
        }
    }
}
""",
    "slots/OrderSink.java": """
package slots;

import java.io.*;
import java.util.*;
import org.apache.kafka.connect.sink.*;
import org.slf4j.*;

/** Appends values to the file in its configuration, and obeys them first; reports values that begin with "?". */
public class OrderSink extends SinkTask {
    private static final Logger LOG = LoggerFactory.getLogger(OrderSink.class);
"""
    + APPENDING
    + """    public void put(Collection records) {
        for (Iterator all = records.iterator(); all.hasNext();) {
            SinkRecord record = (SinkRecord) all.next();
            String value = (String) record.value();
            LOG.debug("value {}", value);
            if (value.startsWith("?")) {
                context.errantRecordReporter().report(record, new IllegalArgumentException("not a value: " + value));
                continue;
            }
            while (value.equals("!tick")) { // writes the time until the process ends
                try {
                    out.write((System.nanoTime() + "\\n").getBytes("UTF-8"));
                    Thread.sleep(5);
                } catch (Exception e) { throw new RuntimeException(e); }
            }
            Orders.obey(value);
            try { out.write((value + "\\n").getBytes("UTF-8")); } catch (IOException e) {
                throw new RuntimeException(e);
            }
        }
    }
}
""",
    "slots/OrderStep.java": """
package slots;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** Obeys the values of records. */
public class OrderStep implements Transformation {
    public ConfigDef config() { return new ConfigDef(); }
    public void configure(Map config) { }
    public void close() { }
    public ConnectRecord apply(ConnectRecord record) {
        Orders.obey((String) record.value());
        return record;
    }
}
""",
    "slots/OrderConverter.java": """
package slots;

import java.util.Map;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.storage.Converter;

/** Strings, whose orders are obeyed when they are written. */
public class OrderConverter implements Converter {
    public void configure(Map config, boolean isKey) { }
    public byte[] fromConnectData(String topic, Schema schema, Object value) {
        Orders.obey((String) value);
        try { return ((String) value).getBytes("UTF-8"); } catch (java.io.IOException e) {
            throw new RuntimeException(e);
        }
    }
    public SchemaAndValue toConnectData(String topic, byte[] value) { throw new UnsupportedOperationException(); }
}
""",
    "slots/BoundarySource.java": """
package slots;

import java.util.*;
import org.apache.kafka.connect.source.*;

/** Numbers from 0 to 499, with a transaction for each ten; that with 20 to 29 is aborted. */
public class BoundarySource extends SourceTask {
    private String topic;
    private long next;

    public String version() { return "1"; }
    public void start(Map config) {
        topic = (String) config.get("topic");
        Map at = context.offsetStorageReader().offset(Collections.singletonMap("p", "x"));
        next = at == null ? 0 : ((Long) at.get("next")).longValue();
    }
    public void stop() { }
    public List poll() throws InterruptedException {
        Thread.sleep(10);
        if (next >= 500) {
            return null;
        }
        List records = new ArrayList();
        for (int i = 0; i < 10; i++, next++) {
            records.add(new SourceRecord(Collections.singletonMap("p", "x"),
                Collections.singletonMap("next", Long.valueOf(next + 1)), topic, null, null, String.valueOf(next)));
        }
        Object last = records.get(9);
        if (next == 30) {
            context.transactionContext().abortTransaction((SourceRecord) last);
        } else {
            context.transactionContext().commitTransaction((SourceRecord) last);
        }
        return records;
    }
}
""",
}


@lru_cache(maxsize=1)
def order_plugins() -> str:
    """The compiled plugins, as a location of `plugin.path`."""
    given = settings()
    work = Path(tempfile.mkdtemp(prefix="headrace-orders-"))
    return str(compile_sources(given.java, given.classpath, _SOURCES, work))


def order_plugin(name: str) -> str:
    """The target of one of them."""
    return str(JavaTarget(f"slots.{name}", order_plugins()))


@lru_cache(maxsize=1)
def _file_connectors() -> str:
    folder = Path(tempfile.mkdtemp(prefix="headrace-file-"))
    (jar,) = [jar for jar in settings().classpath if jar.name.startswith("connect-file-")]
    shutil.copy(jar, folder)
    return str(folder)


def file_task(kind: str) -> str:
    """The target of Apache's file task: Source or Sink."""
    return str(JavaTarget(f"{FILE}{kind}Task", _file_connectors()))


class _Herder(Recorder):
    """Starts lost tasks again, with the offsets that were committed."""

    def __init__(self, rig: JavaSlots) -> None:
        super().__init__()
        self._rig = rig

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        super().task_lost(task, epoch, member_id, reason)
        self._rig.restart(task, epoch)

    async def confirm_start(self, task: TaskId, epoch: int) -> list[SourceOffset]:
        return await self._rig.offsets(task)


class JavaSlots:
    """An engine on an event loop of its own thread. Names of tasks are those of their connectors."""

    def __init__(self, broker: KafkaBroker, **engine: Any) -> None:
        self.heard = _Herder(self)
        self.lease = float("inf")
        """Seconds for which the membership of the worker is confirmed."""
        self._broker = broker
        self.specs: dict[TaskId, TaskSpec] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="java-slots", daemon=True).start()
        self.engine = self._do(self._make(EngineSettings(**{"lease_ttl": LEASE, "archive": False, **engine})))
        wait_until(lambda: self.engine.has_slots, 180)

    async def _make(self, given: EngineSettings) -> SparkEngine:
        engine = SparkEngine(given, self.heard, lambda: self.lease)
        await engine.start()
        return engine

    def close(self) -> None:
        self._do(self.engine.close(5.0))
        self._loop.call_soon_threadsafe(self._loop.stop)

    def start(self, spec: TaskSpec, wait: bool = True) -> str:
        """Starts a task; returns its name when it runs."""
        self.specs[spec.id] = spec
        self._loop.call_soon_threadsafe(self.engine.start_task, spec)
        if wait:
            self.wait_running(spec.connector)
        return spec.connector

    def restart(self, task: TaskId, epoch: int) -> None:
        spec = self.specs.get(task)
        if spec is not None:
            self._loop.create_task(self._start_again(replace(spec, epoch=epoch + 1)))

    async def _start_again(self, spec: TaskSpec) -> None:
        if spec.type == ConnectorType.SOURCE:
            spec = replace(spec, offsets=await self.offsets(spec.id))
        if self.specs.get(spec.id) is not None:
            self.specs[spec.id] = spec
            self.engine.start_task(spec)

    async def offsets(self, task: TaskId) -> list[SourceOffset]:
        """The committed offsets of a source task."""
        return await asyncio.to_thread(source_offsets, self._broker, self.specs[task])

    def stop(self, name: str, graceful: float = 10.0) -> bool:
        del self.specs[TaskId(name, 0)]
        return self._do(self.engine.stop_task(TaskId(name, 0), graceful))

    def pause(self, name: str, paused: bool) -> None:
        self._loop.call_soon_threadsafe(self.engine.pause_task, TaskId(name, 0), paused)

    def set_levels(self, levels: dict[str, str]) -> None:
        self._loop.call_soon_threadsafe(self.engine.set_levels, levels)

    def stack(self, name: str) -> TaskStack:
        found = self._do(self.engine.stack(TaskId(name, 0), 10.0))
        assert found is not None
        return found

    # What was heard

    def epoch(self, name: str) -> int:
        return self.specs[TaskId(name, 0)].epoch

    def states(self, name: str) -> list[State]:
        return [state for task, _, state, _, _ in list(self.heard.states) if task.connector == name]

    def is_running(self, name: str) -> bool:
        last = [entry for entry in list(self.heard.states) if entry[0].connector == name][-1:]
        return [entry[1:3] for entry in last] == [(self.epoch(name), State.RUNNING)]

    def wait_running(self, name: str) -> None:
        wait_until(lambda: self.is_running(name) or State.FAILED in self.states(name), 120, f"{name} runs")
        assert State.FAILED not in self.states(name), self.heard.trace(TaskId(name, 0))

    def wait_restarted(self, name: str) -> None:
        """Waits until a task has been started a second time, and runs."""
        wait_until(lambda: self.epoch(name) == 2, 120, f"{name} is started again")
        self.wait_running(name)

    def lost(self, name: str) -> list[str]:
        """Why a task was handed out again, each time."""
        return [reason for task, _, _, reason in list(self.heard.lost) if task.connector == name]

    def lines(self, name: str) -> list[str]:
        return [line for _, _, line, context in list(self.heard.lines) if context == f"[{name}|task-0]"]

    # Processes

    def slot(self, name: str) -> SlotInfo:
        """The slot of a task."""

        def found() -> SlotInfo | None:
            return next((slot for slot in self._slots() if TaskId(name, 0) in slot.tasks), None)

        return wait_until(found, 20)  # type: ignore[return-value] # wait_until() returns only a slot

    def _slots(self) -> list[SlotInfo]:
        async def ask() -> list[SlotInfo]:
            return list(self.engine.slots)

        return self._do(ask())

    def jvms(self) -> dict[int, int]:
        """The task host JVMs: the pid of each, and that of its slot."""
        found: dict[int, int] = {}
        for slot in self._slots():
            found |= {pid: slot.pid for pid in children(slot.pid) if is_jvm(pid)}
        return found

    def jvm(self, name: str) -> int:
        """The pid of the only JVM of a task's slot, once there is only one."""

        def found() -> list[int]:
            slot = self.slot(name).pid
            pids = [jvm for jvm, parent in self.jvms().items() if parent == slot]
            return pids if len(pids) == 1 else []

        (pid,) = wait_until(found, 20)
        return pid

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(90)


def jvms_of(worker: int) -> list[int]:
    """The task hosts of slots. That of the plugin host is a child of another process."""
    return [jvm for slot in slots_of(worker) for jvm in children(slot) if is_jvm(jvm)]


def slots_of(worker: int) -> list[int]:
    """The slots with a JVM first."""
    found = [pid for pid in children(worker) if "runtime.engine.driver.daemon" in command_line(pid)]
    leaves = [pid for pid in found if not any(child in found for child in children(pid))]
    return sorted(leaves, key=lambda pid: not any(map(is_jvm, children(pid))))


def is_jvm(pid: int) -> bool:
    """Whether the process is a task host JVM that runs."""
    return alive(pid) and "headrace.Main" in command_line(pid)
