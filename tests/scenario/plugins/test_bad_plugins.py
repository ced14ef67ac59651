"""Plugins that raise, return garbage, block, exit or kill their process, in each of their methods. Other connectors of
the same worker keep running and lose nothing. A poll that does not return is reported with its stack."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.events import Follower
from tests.support.connect import STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

SOURCE, SINK = "headrace_bad_plugins.BadSource", "headrace_bad_plugins.BadSink"
QUICK = 5.0  # seconds within which neighbours have to run after any misbehaviour


class Neighbours:
    """A pipeline of lines: file, source, topic, sink, file."""

    def __init__(self, connect: Connect, broker: KafkaBroker, folder: Path) -> None:
        self._connect, self._written = connect, 0
        self._in, self._out = folder / "in.txt", folder / "out.txt"
        self._in.touch()
        topic = broker.create_topic()
        self.names = unique("good-source"), unique("good-sink")
        connect.source(self.names[0], str(self._in), topic)
        connect.sink(self.names[1], str(self._out), topic)

    def flow(self, timeout: float) -> None:
        """Sends ten more lines, and waits until all lines so far have arrived."""
        with self._in.open("a") as file:
            file.writelines(f"line {self._written + n}\n" for n in range(10))
        self._written += 10
        wanted = {f"line {n}" for n in range(self._written)}
        wait_until(lambda: self._out.exists() and wanted <= set(self._out.read_text().splitlines()), timeout, "lines")

    def running(self) -> bool:
        return all(self._connect.states(name) == ("RUNNING", ["RUNNING"]) for name in self.names)


@pytest.fixture(scope="module")
def connect(module_worker: StartWorker) -> Connect:
    properties = {
        "plugin.path": PLUGINS,
        "headrace.stuck.ms": "1000",
        "task.shutdown.graceful.timeout.ms": "1000",
        "offset.flush.interval.ms": "300",
    }
    return Connect(module_worker(properties))


@pytest.fixture(scope="module")
def neighbours(connect: Connect, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Neighbours:
    return Neighbours(connect, broker, tmp_path_factory.mktemp("good"))


@dataclass(frozen=True)
class Bad:
    """One misbehaviour, and the resulting states of the connector and its task."""

    cls: str
    where: str
    how: str
    states: tuple[str, list[str]] | None  # None: the connector is refused with 400
    message: str = ""  # in the trace or the refusal

    def __str__(self) -> str:
        return f"{self.cls.rpartition('.')[2]}-{self.where}-{self.how}"


RUNNING, TASK_FAILED, FAILED = ("RUNNING", ["RUNNING"]), ("RUNNING", ["FAILED"]), ("FAILED", list[str]())
TABLE = [
    Bad("headrace_bad_plugins.UndefinedSource", "config", "raise", None, "the definition cannot be read"),
    Bad(SOURCE, "validate", "raise", None, "validate fails as configured"),
    Bad(SOURCE, "validate", "garbage", None),
    Bad(SOURCE, "validate", "exit", None, "exit in validate"),
    Bad(SOURCE, "start", "raise", FAILED, "start fails as configured"),
    Bad(SOURCE, "start", "exit", FAILED, "exit in start"),
    Bad(SOURCE, "task_configs", "raise", FAILED, "task_configs fails as configured"),
    Bad(SOURCE, "task_configs", "garbage", FAILED),
    Bad(SOURCE, "stop", "raise", RUNNING),
    Bad(SOURCE, "stop", "exit", RUNNING),
    Bad(SOURCE, "task.start", "raise", TASK_FAILED, "task.start fails as configured"),
    Bad(SOURCE, "task.start", "exit", TASK_FAILED, "exit in task.start"),
    Bad(SOURCE, "task.start", "block", ("RUNNING", [])),
    Bad(SOURCE, "task.poll", "raise", TASK_FAILED, "task.poll fails as configured"),
    Bad(SOURCE, "start", "mute", FAILED, "(no message: str() raised ValueError)"),
    Bad(SOURCE, "task.poll", "mute", TASK_FAILED, "(no message: str() raised ValueError)"),
    Bad(SOURCE, "task.poll", "verbose", TASK_FAILED, "(80000000 characters)"),
    Bad(SOURCE, "task.poll", "garbage", TASK_FAILED),
    Bad(SOURCE, "task.poll", "exit", TASK_FAILED, "exit in task.poll"),
    Bad(SOURCE, "task.poll", "block", RUNNING),
    Bad(SOURCE, "task.poll", "leak", RUNNING),
    Bad(SOURCE, "task.commit", "raise", RUNNING),
    Bad(SOURCE, "task.stop", "raise", RUNNING),
    Bad(SOURCE, "task.stop", "block", RUNNING),
    Bad(SINK, "task.start", "raise", TASK_FAILED, "task.start fails as configured"),
    Bad(SINK, "task.open", "raise", TASK_FAILED, "task.open fails as configured"),
    Bad(SINK, "task.put", "raise", TASK_FAILED, "task.put fails as configured"),
    Bad(SINK, "task.put", "exit", TASK_FAILED, "exit in task.put"),
    Bad(SINK, "task.put", "block", RUNNING),
    Bad(SINK, "task.pre_commit", "garbage", RUNNING),
    Bad(SINK, "task.pre_commit", "raise", TASK_FAILED, "task.pre_commit fails as configured"),
    Bad(SINK, "task.flush", "raise", TASK_FAILED, "task.flush fails as configured"),
    Bad(SINK, "task.close", "raise", RUNNING),
    Bad(SINK, "task.stop", "raise", RUNNING),
]


def _config(bad: Bad, topic: str, **more: str) -> dict[str, str]:
    config = {"connector.class": bad.cls, "bad.in": bad.where, "bad.how": bad.how, "tasks.max": "1", **STRINGS, **more}
    return {**config, "topics" if bad.cls == SINK else "topic": topic}


@pytest.fixture(scope="module")
def topic(broker: KafkaBroker) -> str:
    """A topic with a few records, for all tests."""
    topic = broker.create_topic()
    broker.produce(topic, b"a", b"b", b"c")
    return topic


@pytest.mark.parametrize("bad", TABLE, ids=str)
def test_a_bad_plugin_fails_alone(bad: Bad, connect: Connect, neighbours: Neighbours, topic: str) -> None:
    name = unique(f"bad-{bad.where.replace('.', '-')}")
    status, answer = connect.request("POST", "/connectors", {"name": name, "config": _config(bad, topic)})
    if bad.states is None:
        assert (status, bad.message in answer["message"]) == (400, True), answer
    else:
        assert status == 201, answer
        connect.wait(name, *bad.states)
        if not bad.where.endswith(("stop", "close")):
            wait_until(lambda: _has_misbehaved(connect, name, bad), 30, str(bad))
        connect.wait(name, *bad.states)
        traces = [part.get("trace") or "" for part in _parts(connect, name)]
        assert bad.message in "".join(traces)
        connect.ask("DELETE", f"/connectors/{name}")
        wait_until(lambda: connect.request("GET", f"/connectors/{name}/status")[0] == 404, 20)
    wait_until(neighbours.running, QUICK)


def _has_misbehaved(connect: Connect, name: str, bad: Bad) -> bool:
    """Plugins log a line before they misbehave."""
    if not bad.where.startswith("task."):
        return True  # the answer shows the misbehaviour
    lines = connect.ask("GET", f"/connectors/{name}/logs")
    return f"misbehaving in {bad.where}" in str(lines)


def _parts(connect: Connect, name: str) -> list[dict[str, Any]]:
    status = connect.status(name)
    return [status["connector"], *status["tasks"]]


def test_a_stuck_task_is_reported_with_its_stack(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    """In the events, and over REST; it is RUNNING again when the poll returns."""
    name, gate, follower = unique("stuck"), tmp_path / "gate", Follower(connect.worker.url)
    config = {"connector.class": "headrace_test_plugins.BlockingConnector", "gate": str(gate), **STRINGS}
    connect.create(name, {**config, "topic": broker.create_topic(), "tasks.max": "1"})
    connect.wait(name, "RUNNING", ["RUNNING"])

    def notices(text: str) -> list[dict[str, Any]]:
        return [notice for notice in follower.of("notice") if notice["connector"] == name and text in notice["message"]]

    stuck = wait_until(lambda: notices("STUCK"), 30)
    assert stuck[0]["task"] == 0
    assert "poll has not returned" in stuck[0]["message"]
    found = connect.ask("GET", f"/connectors/{name}/tasks/0/stack")
    assert found["call"] == "poll"
    assert found["seconds"] >= 1.0
    assert any("headrace_test_plugins.py" in line and "in poll" in line for line in found["stack"])

    gate.touch()
    wait_until(lambda: notices("no longer stuck"), 30)
    assert connect.states(name) == ("RUNNING", ["RUNNING"])
    connect.ask("DELETE", f"/connectors/{name}")


def test_neighbours_of_bad_plugins_lost_nothing(neighbours: Neighbours) -> None:
    neighbours.flow(60)


def test_a_task_that_keeps_killing_its_slot_gets_its_own_slot(
    connect: Connect, neighbours: Neighbours, topic: str
) -> None:
    bad = Bad(SINK, "task.put", "kill", None)
    name = unique("killer")
    connect.create(name, _config(bad, topic))
    isolated = re.compile(rf"{name}-0.* these tasks are isolated")
    wait_until(lambda: isolated.search(connect.worker.log.read_text()), 60, "the second death")
    calm: list[float] = []

    def neighbours_keep_running() -> bool:
        """Whether the neighbours have been running for a while although the task keeps killing its slot."""
        calm.append(time.monotonic()) if neighbours.running() else calm.clear()
        return bool(calm) and calm[-1] - calm[0] > QUICK

    wait_until(neighbours_keep_running, 60, "the neighbours to keep running")
    neighbours.flow(60)
    connect.ask("DELETE", f"/connectors/{name}")
    wait_until(neighbours.running, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "state"), [("kill", "FAILED"), ("block", "UNASSIGNED")])
def test_connectors_that_end_the_plugin_host_or_never_start(
    how: str, state: str, connect: Connect, neighbours: Neighbours, topic: str
) -> None:
    """A host that dies in start() is replaced, tasks of other connectors continue, and the connectors start again. A
    start that does not return does not affect other connectors."""
    name = unique(f"host-{how}")
    connect.create(name, _config(Bad(SOURCE, "start", how, None), topic))
    connect.wait(name, state, timeout=90)
    wait_until(neighbours.running, QUICK)
    neighbours.flow(60)
    connect.ask("DELETE", f"/connectors/{name}")
    connect.ask("POST", f"/connectors/{neighbours.names[0]}/restart")
    wait_until(neighbours.running, 20)
