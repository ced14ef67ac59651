"""An async source in a slot: its poll() waits without limit while the task is committed, stopped, killed and
reconfigured."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.plugins import PLUGINS
from tests.support.processes import children, is_slot
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

SOON_AND_LATE = {"offset.flush.interval.ms": "200", "task.shutdown.graceful.timeout.ms": "60000"}


def test_an_async_source_in_a_slot(worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    process = worker({"plugin.path": PLUGINS, "headrace.slots": "1", **SOON_AND_LATE})
    connect, name, topic, feed = Connect(process), unique("async"), broker.create_topic(), tmp_path / "feed"
    config = {"connector.class": "headrace_async_plugins.FollowConnector", "feed": str(feed), "topic": topic}
    connect.create(name, {**config, "tasks.max": "2", **STRINGS})
    connect.wait(name, "RUNNING", ["RUNNING"])

    def add(*lines: str) -> None:
        with feed.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def lines() -> list[list[Any]]:
        return [json.loads(value or b"") for _, value in records(broker, topic)]

    def committed(line: int) -> bool:
        return [entry["offset"] for entry in connect.offsets(name)] == [{"line": line}]

    add("one", "two")
    wait_until(lambda: committed(2), what="the commit while poll() waits")
    add("three")
    wait_until(lambda: len(lines()) == 3)
    assert lines()[2] == ["three", 2], "a read shows what the task itself has committed"
    wait_until(lambda: committed(3))
    assert feed.with_suffix(".written").read_text().split() == ["0", "1", "2"]

    started = time.monotonic()
    connect.stop(name)
    assert time.monotonic() - started < 30, "a task that does not end is abandoned after a minute"
    connect.resume(name)
    (slot,) = [pid for pid in children(process.pid) if is_slot(pid)]
    os.kill(slot, signal.SIGKILL)
    add("four")
    wait_until(lambda: committed(4))
    assert [line for line, _ in lines()] == ["one", "two", "three", "four"]

    feed.with_suffix(".tasks").write_text("2")
    connect.wait(name, "RUNNING", ["RUNNING", "RUNNING"])
    feed.with_suffix(".broken").write_text("the system is gone")
    connect.wait(name, "FAILED")
    trace = connect.status(name)["connector"]["trace"]
    assert trace.startswith("org.apache.kafka.connect.errors.ConnectException: the system is gone after {'line': 4}")
