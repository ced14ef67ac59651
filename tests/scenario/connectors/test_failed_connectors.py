"""Connectors that cannot start: their states, and the effect on their running tasks."""

from __future__ import annotations

from pathlib import Path

from tests.support.broker import unique
from tests.support.connect import SOURCE, STRINGS, Connect
from tests.support.waiting import wait_until

REPLICAS = "topic.creation.default.replication.factor"


def test_a_connector_that_cannot_start_is_failed_in_every_state(connect: Connect, tmp_path: Path) -> None:
    """As with Apache's worker; a restart reports the failure."""
    file = tmp_path / "in"
    file.write_text("a\n")
    good = {"connector.class": SOURCE, "file": str(file), "topic": unique("t"), "tasks.max": "1", **STRINGS}
    connect.create("c", {**good, REPLICAS: "1", "topic.creation.default.partitions": "1"})

    def reaches(connector: str, *tasks: str) -> None:
        wait_until(lambda: connect.states("c") == (connector, list(tasks)), 60, f"{connector} with {tasks}")

    reaches("RUNNING", "RUNNING")
    connect.ask("PATCH", "/connectors/c/config", {REPLICAS: "0"})
    reaches("FAILED", "RUNNING")
    status, body = connect.request("POST", "/connectors/c/restart")
    assert (status, body["message"]) == (500, "Failed to start connector: c")
    connect.ask("PUT", "/connectors/c/pause")
    reaches("FAILED", "PAUSED")
    connect.ask("PUT", "/connectors/c/stop")
    reaches("FAILED")
    connect.ask("PATCH", "/connectors/c/config", {REPLICAS: "1"})
    reaches("STOPPED")
    status, body = connect.request("POST", "/connectors/c/restart?includeTasks=true")
    assert (status, body["connector"]["state"]) == (202, "RESTARTING")
    reaches("STOPPED")
    connect.ask("PUT", "/connectors/c/resume")
    reaches("RUNNING", "RUNNING")
    assert connect.request("POST", "/connectors/c/restart")[0] == 204
