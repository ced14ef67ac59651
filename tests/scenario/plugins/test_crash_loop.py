"""A plugin that kills the worker each time its connector starts: quarantined after three deaths of the worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.broker import unique
from tests.support.connect import STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

KILLER = "headrace_bad_plugins.BadSource"
DEATHS = 3


@pytest.mark.slow
def test_a_connector_that_kills_the_worker_is_quarantined(worker: StartWorker, tmp_path: Path) -> None:
    process = worker({"plugin.path": PLUGINS, "headrace.slots": "1"})
    connect, killer, neighbour, topic = Connect(process), unique("killer"), unique("neighbour"), unique("t")
    (tmp_path / "in").write_text("a\n")
    connect.source(neighbour, str(tmp_path / "in"), topic)
    connect.wait(neighbour, "RUNNING", ["RUNNING"])
    config = {"connector.class": KILLER, "topic": topic, "tasks.max": "1", **STRINGS}
    kills = {"bad.in": "start", "bad.how": "kill_worker"}
    connect.create(killer, {**config, **kills})
    for _ in range(DEATHS - 1):
        wait_until(lambda: not process.running(), 60, "the worker's death")
        process.start(wait=False)
    wait_until(lambda: not process.running(), 60, "the worker's death")
    process.start()
    connect.wait(killer, "FAILED", [])
    connect.wait(neighbour, "RUNNING", ["RUNNING"])
    trace = connect.status(killer)["connector"]["trace"]
    assert f"the worker died {DEATHS} times in a row while this connector was starting" in trace
    assert "restart the connector or update its configuration" in trace
    process.restart()
    connect.wait(killer, "FAILED", [])

    connect.ask("PUT", f"/connectors/{killer}/config", config)
    connect.wait(killer, "RUNNING", ["RUNNING"])
    assert process.running()
