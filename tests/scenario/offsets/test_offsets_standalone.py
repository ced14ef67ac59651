"""Offset changes on a standalone worker: their journal is stored next to the offsets file and survives the worker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.clusters import offset_change_crasher, rest, standalone
from tests.support.connect import STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.workers import WorkerProcess

OLD = [{"partition": {"counter": str(i)}, "offset": {"n": 0}} for i in range(20)]
NEW = [{"partition": {"counter": str(i)}, "offset": {"n": 5}} for i in range(10)]


@pytest.fixture
def worker(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": "t", **STRINGS}
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "c", "config": config, "initial_state": "STOPPED"}))
    process = standalone.ours(tmp_path, broker.bootstrap, file, **{"plugin.path": PLUGINS})
    crasher = [sys.executable, offset_change_crasher.__file__, str(tmp_path / "orders")]
    process.command = [*crasher, *process.command[-2:]]
    process.start()
    yield process
    if process.running():
        process.stop()


def die_at(process: WorkerProcess, orders: Path, step: int, method: str, body: Any) -> None:
    """Sends a request during which the worker kills itself at a step, and starts it again."""
    orders.write_text(str(step))
    with pytest.raises(OSError):
        rest.request(f"{process.url}/connectors/c/offsets", method, body)
    process.wait(20)
    orders.unlink()
    process.start()


def test_a_change_that_was_interrupted_is_finished_by_the_next_worker(worker: WorkerProcess, tmp_path: Path) -> None:
    connect = Connect(worker)
    connect.ask("PATCH", "/connectors/c/offsets", {"offsets": OLD})
    die_at(worker, tmp_path / "orders", 1, "PATCH", {"offsets": NEW})  # recorded, not applied yet
    assert _sorted(connect.offsets("c")) == _sorted([*NEW, *OLD[10:]])
    die_at(worker, tmp_path / "orders", 2, "DELETE", None)  # applied, still recorded
    assert connect.offsets("c") == []
    history = connect.ask("GET", "/connectors/c/offsets/history")["history"]
    assert [past["action"] for past in history] == ["reset", "alter", "alter"]
    assert _sorted(history[0]["before"]) == _sorted([*NEW, *OLD[10:]])


def test_the_tool_refuses_while_the_worker_lives(worker: WorkerProcess, tmp_path: Path) -> None:
    Connect(worker).ask("PATCH", "/connectors/c/offsets", {"offsets": NEW})
    command = [sys.executable, "-m", "runtime", "offsets", f"--config={tmp_path / 'ours.properties'}", "--export"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert f"a worker is running (the worker at {worker.url}" in refused.stderr
    worker.stop()
    exported = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert _sorted(json.loads(exported.stdout)["c"]) == _sorted(NEW)


def _sorted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda entry: int(entry["partition"]["counter"]))
