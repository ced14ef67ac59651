"""kill -9 between any two records of the config topic: the next worker shows the old state or the new one."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import unique
from tests.support.clusters import config_write_crasher
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

Config = dict[str, str]
PUT, PATCH, POST, DELETE = "PUT", "PATCH", "POST", "DELETE"
NOTHING = ("NONE", 0)


@dataclass
class CrashingWorker:
    """A worker that dies at a given record."""

    process: WorkerProcess
    orders: Path

    def request_and_crash(self, records: int, method: str, path: str, body: Any = None) -> None:
        """Sends a request during which the worker dies, after `records` of its records are in Kafka."""
        self.orders.write_text(str(records))
        with contextlib.suppress(OSError):
            self.process.request(method, path, body)
        wait_until(lambda: not self.process.running(), 30, f"the worker's end after {records} records")
        self.orders.unlink()

    def again(self) -> Connect:
        self.process.start()
        return Connect(self.process)


@pytest.fixture
def crashing(worker: StartWorker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CrashingWorker:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    process, orders = worker({"headrace.slots": "1"}, start=False), tmp_path / "orders"
    process.command = [sys.executable, config_write_crasher.__file__, str(process.properties_file), str(orders)]
    return CrashingWorker(process, orders)


def shown(connect: Connect, name: str) -> tuple[str, int]:
    """State and number of tasks if configs, task configs and statuses agree; otherwise the contradiction."""
    code, config = connect.request("GET", f"/connectors/{name}/config")
    if code == 404:
        return NOTHING
    tasks = connect.ask("GET", f"/connectors/{name}/tasks")
    state, statuses = connect.states(name)
    made = [{**config, "task.class": t["config"].get("task.class")} == t["config"] for t in tasks]
    if not all(made) or len(statuses) != len(tasks):
        return f"{state}, tasks' configs {made}, statuses {statuses}", -1
    return state, len(tasks)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_connector_is_in_its_old_or_its_requested_state(crashing: CrashingWorker, topic: str, tmp_path: Path) -> None:
    base: Config = {"connector.class": SINK, "topics": topic, "file": str(tmp_path / "o"), "tasks.max": "2", **STRINGS}
    wide: Config = {**base, "tasks.max": "3"}
    connect = crashing.again()

    def crash(records: int, before: tuple[str, int], method: str, verb: str, body: Any, after: tuple[str, int]) -> None:
        """A connector's state, a request during which the worker dies, and the state that the next worker shows."""
        nonlocal connect
        name = unique("c")
        state, _ = before
        if before != NOTHING:
            connect.create(name, base, initial_state="STOPPED" if state == "STOPPED" else None)
            wait_until(lambda: shown(connect, name) == before, 30, f"{name} {before}")
        if before == NOTHING:
            crashing.request_and_crash(records, POST, "/connectors", {"name": name, **body})
        else:
            crashing.request_and_crash(records, method, f"/connectors/{name}{verb}", body)
        connect = crashing.again()
        wait_until(lambda: shown(connect, name) == after, 30, f"{method} {verb} after {records}: {after}")
        if after == NOTHING:  # the next connector of that name is not affected
            connect.create(name, base)
            wait_until(lambda: shown(connect, name) == ("RUNNING", 2), 30, f"{name} created again")
        connect.ask(DELETE, f"/connectors/{name}")

    running, stopped = ("RUNNING", 2), ("STOPPED", 0)
    new = {"config": base}
    # connector, task 0, task 1, commit
    crash(0, NOTHING, POST, "", new, NOTHING)
    crash(1, NOTHING, POST, "", new, running)
    crash(2, NOTHING, POST, "", new, running)
    crash(3, NOTHING, POST, "", new, running)
    # target state, connector
    crash(1, NOTHING, POST, "", {**new, "initial_state": "STOPPED"}, NOTHING)
    crash(2, NOTHING, POST, "", {**new, "initial_state": "STOPPED"}, stopped)
    # connector, tasks 0 to 2, commit
    crash(0, running, PUT, "/config", wide, running)
    crash(1, running, PUT, "/config", wide, ("RUNNING", 3))
    crash(4, running, PUT, "/config", wide, ("RUNNING", 3))
    crash(2, running, PATCH, "/config", {"tasks.max": "3"}, ("RUNNING", 3))
    # target state
    crash(1, running, PUT, "/pause", None, ("PAUSED", 2))
    # commit of no tasks, target state
    crash(1, running, PUT, "/stop", None, running)
    crash(2, running, PUT, "/stop", None, stopped)
    # target state, task 0, task 1, commit
    crash(1, stopped, PUT, "/resume", None, running)
    crash(2, stopped, PUT, "/resume", None, running)
    # connector, target state
    crash(1, running, DELETE, "", None, NOTHING)
    crash(1, stopped, DELETE, "", None, NOTHING)
    # only the request
    crash(1, running, POST, "/restart?includeTasks=true", None, running)
