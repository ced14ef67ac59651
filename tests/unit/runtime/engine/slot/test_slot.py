"""The process of a slot, without Spark and without a worker."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.settings import SlotSettings
from runtime.system import frames
from tests.support.engine.engine_recorder import task_spec

SLOT = """
import json, sys
from runtime.engine.protocol.settings import SlotSettings
from runtime.engine.slot.slot import serve
serve(SlotSettings.from_json(json.loads(sys.argv[1])), ())
"""


class Worker:
    """The worker's end of the channel of a slot that has a lease."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._stream = connection, connection.makefile("rb")

    def send(self, message: Any) -> None:
        self._connection.sendall(encode(message))

    def start(self, connector: str, behaviour: str) -> None:
        spec = replace(task_spec(connector), config={"behaviour": behaviour})
        self.send({"op": "start", "spec": spec, "archives": {}})

    def until(self, op: str, **fields: object) -> dict[str, Any]:
        """The next message of this kind with these fields."""
        for message in frames.read_all(self._stream):
            if message["op"] == op and fields.items() <= message.items():
                return dict(message)
        raise AssertionError(f"the slot has ended without {op} {fields}")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    settings = SlotSettings(
        str(tmp_path / "s"), 1, 0, 1, 6.0, "tests.support.engine.scripted_task_runner:ScriptedRunner", str(tmp_path)
    )
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(settings.socket)
        listener.listen()
        process = stack.enter_context(subprocess.Popen([sys.executable, "-c", SLOT, json.dumps(asdict(settings))]))
        stack.callback(process.kill)
        listener.settimeout(60)
        connection = stack.enter_context(listener.accept()[0])
        connection.settimeout(60)
        worker = Worker(connection)
        worker.until("hello")
        LeaseCell.open(str(tmp_path), 0, process.pid).grant(math.inf)
        worker.send({"op": "welcome", "stuck_after": 60.0})
        yield worker


def test_at_the_limit_of_threads_a_slot_starts_no_task_and_keeps_those_that_run(worker: Worker) -> None:
    worker.start("first", "threads")
    worker.until("topic", connector="first")
    worker.start("second", "idle")
    refused = worker.until("no_room", connector="second")
    assert "raise the limit (pids.max" in refused["reason"] and "can't start new thread" in refused["reason"]
    worker.send({"op": "stop", "connector": "first", "task": 0, "epoch": 1})
    worker.until("ended", connector="first")
    worker.until("alive")
