"""A poll that does not return: reported in the events, its stack served over REST, and RUNNING again when it
returns."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

PLUGINS = str(Path(__file__).parents[2] / "support" / "plugins")


def test_a_stuck_task_is_reported_with_its_stack(
    worker: Callable[..., WorkerProcess], broker: KafkaBroker, tmp_path: Path
) -> None:
    connect = Connect(worker({"plugin.path": PLUGINS, "headrace.stuck.ms": "1000"}))
    notices = _notices(connect.worker.url)
    name, gate = unique("stuck"), tmp_path / "gate"
    config = {"connector.class": "headrace_test_plugins.BlockingConnector", "gate": str(gate), **STRINGS}
    connect.create(name, {**config, "topic": broker.create_topic(), "tasks.max": "1"})
    connect.wait(name, "RUNNING", ["RUNNING"])

    stuck = wait_until(lambda: [n for n in notices if n["connector"] == name and "STUCK" in n["message"]], 30)
    assert stuck[0]["task"] == 0
    assert "poll has not returned" in stuck[0]["message"]
    found = connect.ask("GET", f"/connectors/{name}/tasks/0/stack")
    assert found["call"] == "poll"
    assert found["seconds"] >= 1.0
    assert any("headrace_test_plugins.py" in line and "in poll" in line for line in found["stack"])

    gate.touch()
    wait_until(lambda: any("no longer stuck" in n["message"] for n in notices), 30)
    assert connect.states(name) == ("RUNNING", ["RUNNING"])


def test_requests_for_missing_stacks_are_answered_with_404(connect: Connect) -> None:
    assert connect.worker.request("GET", "/connectors/nobody/tasks/0/stack")[0] == 404
    assert connect.worker.request("GET", "/health/live") == (200, {"status": "alive"})


def _notices(url: str) -> list[dict[str, Any]]:
    """Collects the notices of the event stream."""
    found: list[dict[str, Any]] = []
    stream = urllib.request.urlopen(f"{url}/events", timeout=60)

    def follow() -> None:
        kind = ""
        with stream:
            for line in stream:
                if line.startswith(b"event:"):
                    kind = line[6:].strip().decode()
                elif line.startswith(b"data:") and kind == "notice":
                    found.append(json.loads(line[5:]))

    threading.Thread(target=follow, daemon=True).start()
    return found
