"""The worker as a service: its log, the last log lines of a connector, and a graceful end within its time limit."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka.topics import count
from tests.support.processes import alive, children, command_line
from tests.support.waiting import soon, wait_until
from tests.support.workers import StartWorker, WorkerProcess


def test_a_json_log_and_an_end_within_the_graceful_time(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    times = {"task.shutdown.graceful.timeout.ms": "5000", "offset.flush.interval.ms": "60000"}
    process = worker({"headrace.log.format": "json", "headrace.slots": "1", **times})
    connect = Connect(process)
    name = _check_last_lines(connect, broker, tmp_path)
    _check_the_end(connect, broker, tmp_path)
    logged = [json.loads(line) for line in process.log.read_text().splitlines()]
    of_task = [line for line in logged if line.get("connector") == name and line.get("task") == 0]
    assert any(line["message"] == f"{name}-0 is RUNNING" for line in of_task)
    assert any(line["message"].startswith("Assigned") for line in of_task)


def _check_last_lines(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> str:
    """The last log lines of a connector; returns its name."""
    name, topic = unique("sink|odd"), broker.create_topic()
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic, **STRINGS}
    connect.create(name, config)
    connect.wait(name, "RUNNING", ["RUNNING"])

    def subscribed() -> bool:
        return any(line["message"].startswith("Assigned") for line in connect.ask("GET", f"/connectors/{name}/logs"))

    wait_until(subscribed, what="the slot's lines reach the worker")
    lines = connect.ask("GET", f"/connectors/{name}/logs")
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert {line["task"] for line in lines} == {None, 0}
    assert lines[0].keys() == {"time", "level", "task", "logger", "message"}
    assert connect.ask("GET", f"/connectors/{name}/logs?lines=1") == lines[-1:]
    assert {line["task"] for line in connect.ask("GET", f"/connectors/{name}/logs?task=0")} == {0}
    assert connect.request("GET", f"/connectors/{name}/logs?lines=many")[0] == 400
    assert connect.request("GET", "/connectors/nobody/logs")[0] == 404
    return name


def test_text_lines_contain_connects_contexts(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    log, name = connect.worker.log, unique("lines")
    connect.sink(name, str(tmp_path / "out"), broker.create_topic())
    wait_until(lambda: f"] INFO [{name}|task-0] Assigned" in log.read_text())
    assert f"] INFO [{name}|worker] {name} is RUNNING (runtime.herder.status.status_board)" in log.read_text()


def test_requests_for_missing_stacks_are_answered_with_404(connect: Connect) -> None:
    assert connect.request("GET", "/connectors/nobody/tasks/0/stack")[0] == 404
    assert connect.request("GET", "/health/live") == (200, {"status": "alive"})


def _check_the_end(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    """Under load, no record is lost, and none arrives twice, since all offsets were committed."""
    graceful, lines, process = 5.0, 1_000_000, connect.worker
    topic, file = broker.create_topic(), tmp_path / "in.txt"
    file.write_text("".join(f"line {i}\n" for i in range(lines)))
    connect.source("drained", str(file), topic)
    wait_until(lambda: count(broker.bootstrap, topic) > 10_000)
    family = children(process.pid)
    started = time.monotonic()
    assert process.stop() == 0
    print(f"\nended within {time.monotonic() - started:.1f} s, {count(broker.bootstrap, topic)} lines in the topic")
    assert time.monotonic() - started < graceful + soon(5)
    assert count(broker.bootstrap, topic) < lines
    wait_until(lambda: not any(alive(pid) for pid in family), 30, "no process remains")

    process.start()
    wait_until(lambda: count(broker.bootstrap, topic) >= lines, 60)
    connect.stop("drained")
    assert connect.offsets("drained")[0]["offset"] == {"position": file.stat().st_size}
    assert count(broker.bootstrap, topic) == lines


def test_a_terminal_that_is_closed_stops_the_worker_in_order(worker: StartWorker) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored, as by nohup, it has no effect on the worker
    try:
        process = worker({"headrace.slots": "1"})
    finally:
        signal.signal(signal.SIGHUP, before)
    for _ in range(2):  # by the kernel, and by the shell
        os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(soon(20)) == 0
    log = process.log.read_text()
    assert f"Worker {process.url.removeprefix('http://')} has stopped" in log
    assert "plugin host" not in log, "it does not end before the worker"


def test_spark_starts_again_after_the_folder_of_the_worker_was_deleted(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of an earlier release. Java does not start in a folder that has been deleted."""
    release = tmp_path / "release"
    release.mkdir()
    monkeypatch.chdir(release)
    process = worker({"headrace.slots": "1"})
    monkeypatch.chdir(tmp_path)
    release.rmdir()
    wait_until(lambda: bool(_drivers(process)), what="Spark's driver is started")
    for pid in _drivers(process):
        os.kill(pid, signal.SIGKILL)
    connect, name = Connect(process), unique("source")
    connect.create(name, {"connector.class": "VerifiableSource", "topic": broker.create_topic()})
    connect.wait(name, "RUNNING", ["RUNNING"])


def _drivers(worker: WorkerProcess) -> list[int]:
    return [pid for pid in children(worker.pid) if "engine.driver.driver" in command_line(pid)]
