"""The brokers are unavailable for longer than leases last: nothing fails or restarts in a loop, and everything
continues when the brokers return."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import Connect
from tests.support.processes import children, command_line
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

AWAY = 12.0  # seconds after the leases have expired
PIPELINES = 5


@pytest.mark.soak
def test_connectors_survive_a_long_outage_of_the_brokers(
    worker: StartWorker, own_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    process = worker(bootstrap=own_broker.bootstrap)
    connect, topic = Connect(process), own_broker.create_topic()
    out, names, files = tmp_path / "out.txt", [], []
    for _ in range(PIPELINES):
        name, file = unique("src"), tmp_path / unique("in")
        file.write_text("before\n")
        connect.source(name, str(file), topic)
        names.append(name)
        files.append(file)
    names.append(unique("snk"))
    connect.sink(names[-1], str(out), topic)
    wait_until(lambda: out.exists() and out.read_text().count("before") == PIPELINES)

    own_broker.kill()
    wait_until(lambda: {states for name in names for states in connect.states(name)[1]} == {"UNASSIGNED"}, 30)
    wait_until(lambda: len(_slots(process)) == 3, 30, "slots that wait for a lease")  # two slots, and Spark's daemon
    waiting, lines = _slots(process), _lines(process)
    assert process.request("GET", "/health")[0] == 500
    assert process.request("GET", "/health/live") == (200, {"status": "alive"})
    for file in files:
        with file.open("a") as more:
            more.write("meanwhile\n")
    away_until = time.monotonic() + AWAY
    wait_until(lambda: time.monotonic() > away_until, AWAY + 5)
    assert _slots(process) == waiting, "slots were restarted repeatedly"
    assert _lines(process) - lines < 3 * len(names), "the log was flooded"

    own_broker.start()
    for name in names:
        connect.wait(name, "RUNNING", ["RUNNING"], 30)
    wait_until(lambda: out.read_text().count("meanwhile") >= PIPELINES, 30)
    assert not any("FAILED" in line for line in process.log.read_text().splitlines())


def _slots(worker: WorkerProcess) -> set[int]:
    return {pid for pid in children(worker.pid) if "runtime.engine.driver.daemon" in command_line(pid)}


def _lines(worker: WorkerProcess) -> int:
    """Lines of the log, except those about requests."""
    return sum("runtime.rest.security.audit" not in line for line in worker.log.read_text().splitlines())
