"""kill -9 between any two steps of an offset change: after the restart it is complete, or nothing has changed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import offset_change_crasher, rest
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.waiting import soon, wait_until
from tests.support.workers import WorkerProcess, our_worker

Entries = list[dict[str, Any]]


def _steps(*steps: int, soak: Sequence[int]) -> pytest.MarkDecorator:
    """The steps after which the worker dies; those of `soak` in make soak only."""
    cases = [*steps, *(pytest.param(step, marks=pytest.mark.soak) for step in soak)]
    return pytest.mark.parametrize("step", cases)


@dataclass
class CrashingWorker:
    """A worker that dies at a step of a change of offsets, once it is ordered to."""

    whole: WorkerProcess
    orders: Path

    def request_and_crash(self, step: int, method: str, path: str, body: Any = None) -> None:
        """Sends a request during which the worker dies at the step."""
        self.orders.write_text(str(step))
        with pytest.raises(OSError):
            rest.request(self.whole.url + path, method, body)
        self.whole.wait(30)
        self.orders.unlink()


@pytest.fixture(scope="module")
def crashing_worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrashingWorker]:
    folder = tmp_path_factory.mktemp("crashing")
    process = our_worker(folder, broker.bootstrap, {"plugin.path": PLUGINS, "headrace.slots": "1"})
    orders = folder / "orders"
    process.command = [sys.executable, offset_change_crasher.__file__, str(orders), str(process.properties_file)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path.cwd()))
        yield CrashingWorker(process, orders)
        if process.running():
            process.stop()


@pytest.fixture
def crashing(crashing_worker: CrashingWorker) -> Iterator[CrashingWorker]:
    """The same worker for each test, without connectors."""
    crashing_worker.orders.unlink(missing_ok=True)
    if not crashing_worker.whole.running():
        crashing_worker.whole.start()
    yield crashing_worker
    if crashing_worker.whole.running():
        Connect(crashing_worker.whole).delete_all()


def _restarted(crashing: CrashingWorker) -> Connect:
    """Starts the next worker; returns the seconds until it answers requests for the offsets."""
    started = time.monotonic()
    crashing.whole.start()
    print(f"\nready {time.monotonic() - started:.1f} s after the restart")
    assert time.monotonic() - started < soon()
    return Connect(crashing.whole)


def _tool_refuses(crashing: CrashingWorker, name: str) -> None:
    """`headrace offsets` exports no incomplete change, and imports nothing that the next worker would overwrite."""
    command = [sys.executable, "-m", "runtime", "offsets", f"--config={crashing.whole.properties_file}", "--export"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"a change of the offsets of {name} was interrupted" in refused.stderr


@_steps(2, soak=(1, 3))
def test_altering_a_source(crashing: CrashingWorker, broker: KafkaBroker, step: int) -> None:
    connect, topic = Connect(crashing.whole), broker.create_topic()
    connect.create("c", _counting(topic), initial_state="STOPPED")
    connect.alter("c", *(({"counter": str(i)}, {"n": 0}) for i in range(20)))
    new = [{"partition": {"counter": str(i)}, "offset": {"n": 5}} for i in range(20)]
    crashing.request_and_crash(step, "PATCH", "/connectors/c/offsets", {"offsets": new})
    _tool_refuses(crashing, "c")
    assert _sorted(_restarted(crashing).offsets("c")) == _sorted(new)


@_steps(2, soak=(1, 3))
def test_changing_a_sink(crashing: CrashingWorker, broker: KafkaBroker, tmp_path: Path, step: int) -> None:
    connect, topic, name = Connect(crashing.whole), broker.create_topic(partitions=3), unique("snk")
    connect.create(name, _sink(topic, tmp_path), initial_state="STOPPED")
    connect.alter(name, *((_at(topic, p), {"kafka_offset": 1}) for p in range(3)))
    new = [{"partition": _at(topic, p), "offset": o} for p, o in ((0, {"kafka_offset": 9}), (1, None))]
    crashing.request_and_crash(step, "PATCH", f"/connectors/{name}/offsets", {"offsets": new})
    connect = _restarted(crashing)
    kept = {"partition": _at(topic, 2), "offset": {"kafka_offset": 1}}
    assert connect.offsets(name) == [new[0], kept]
    crashing.request_and_crash(step, "DELETE", f"/connectors/{name}/offsets")
    assert _restarted(crashing).offsets(name) == []


@_steps(2, 4, soak=(1, 3, 5))
def test_creating_with_initial_offsets(crashing: CrashingWorker, broker: KafkaBroker, step: int) -> None:
    connect, topic = Connect(crashing.whole), broker.create_topic()
    connect.create("c", _counting(topic), initial_state="STOPPED")
    connect.alter("c", ({"counter": "old"}, {"n": 1}))
    connect.ask("DELETE", "/connectors/c")
    new = [{"partition": {"counter": "new"}, "offset": {"n": 5}}]
    body = {"name": "c", "config": _counting(topic), "initial_offsets": new, "initial_state": "STOPPED"}
    crashing.request_and_crash(step, "POST", "/connectors", body)
    connect = _restarted(crashing)
    connect.wait("c", "STOPPED", [])
    assert connect.offsets("c") == new


@pytest.mark.parametrize("step", [3, 4])  # offsets are set, and the config is written
def test_creating_a_sink_with_initial_offsets(
    crashing: CrashingWorker, broker: KafkaBroker, tmp_path: Path, step: int
) -> None:
    connect, topic, name = Connect(crashing.whole), broker.create_topic(partitions=2), unique("snk")
    connect.create(name, _sink(topic, tmp_path), initial_state="STOPPED")
    connect.alter(name, (_at(topic, 1), {"kafka_offset": 1}))
    connect.ask("DELETE", f"/connectors/{name}")
    new = [{"partition": _at(topic, 0), "offset": {"kafka_offset": 5}}]
    body = {"name": name, "config": _sink(topic, tmp_path), "initial_offsets": new, "initial_state": "STOPPED"}
    crashing.request_and_crash(step, "POST", "/connectors", body)
    connect = _restarted(crashing)
    connect.wait(name, "STOPPED", [])
    assert connect.offsets(name) == new


@_steps(2, 3, soak=(1, 4))
def test_deleting_with_offsets(crashing: CrashingWorker, broker: KafkaBroker, step: int) -> None:
    connect, topic = Connect(crashing.whole), broker.create_topic()
    connect.create("c", _counting(topic), initial_state="STOPPED")
    connect.alter("c", ({"counter": "old"}, {"n": 1}))
    crashing.request_and_crash(step, "DELETE", "/connectors/c?offsets=true")
    connect = _restarted(crashing)
    assert "c" not in connect.ask("GET", "/connectors")
    connect.create("c", _counting(topic), initial_state="STOPPED")
    assert connect.offsets("c") == []


def test_deleting_a_running_connector_with_offsets(
    crashing: CrashingWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The worker dies in the connector's hook: nothing is deleted, and the connector runs again."""
    connect, asked = Connect(crashing.whole), tmp_path / "asked"
    hanging = {"connector.class": "headrace_test_plugins.HangingOffsetsConnector", "asked": str(asked)}
    connect.create("c", {**_counting(broker.create_topic()), **hanging})
    connect.wait("c", "RUNNING", ["RUNNING"])
    wait_until(lambda: connect.offsets("c"))
    with ThreadPoolExecutor() as pool:
        deletion = pool.submit(connect.request, "DELETE", "/connectors/c?offsets=true")
        wait_until(asked.exists)
        assert connect.states("c") == ("STOPPED", [])
        crashing.whole.kill()
        assert isinstance(deletion.exception(), OSError)
    connect = _restarted(crashing)
    connect.wait("c", "RUNNING", ["RUNNING"])
    assert connect.offsets("c") != []


@_steps(2, soak=(1, 3))
def test_removing_orphaned_offsets(crashing: CrashingWorker, broker: KafkaBroker, step: int) -> None:
    connect, topic = Connect(crashing.whole), broker.create_topic()
    connect.create("c", _counting(topic), initial_state="STOPPED")
    connect.alter("c", *(({"counter": str(i)}, {"n": 1}) for i in range(10)))
    connect.ask("DELETE", "/connectors/c")
    crashing.request_and_crash(step, "DELETE", "/orphaned-offsets/c")
    assert _restarted(crashing).ask("GET", "/orphaned-offsets")["sources"] == []


def _counting(topic: str) -> dict[str, str]:
    return {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, "tasks.max": "1", **STRINGS}


def _sink(topic: str, folder: Path) -> dict[str, str]:
    return {"connector.class": SINK, "file": str(folder / "out.txt"), "topics": topic, **STRINGS}


def _at(topic: str, partition: int) -> dict[str, Any]:
    return {"kafka_partition": partition, "kafka_topic": topic}


def _sorted(entries: Entries) -> Entries:
    return sorted(entries, key=lambda e: str(e["partition"]))
