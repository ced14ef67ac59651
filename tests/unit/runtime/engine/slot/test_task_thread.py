"""Requests to a task before and while it runs."""

from __future__ import annotations

import queue
import threading
from typing import Any

from runtime.engine.slot.task_thread import TaskThread
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from tests.support.engine.engine_recorder import task_spec
from tests.support.tasks.slot_host import RecordingHost


class Runner:
    """Runs until stopped or revoked, and records the requests."""

    def __init__(self, spec: TaskSpec, host: Any) -> None:
        self.calls: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.end = threading.Event()

    call = errors = meter = None

    def run(self) -> None:
        self.end.wait(10)

    def stop(self) -> None:
        self.calls.put("stop")
        self.end.set()

    def revoke(self) -> None:
        self.calls.put("revoke")
        self.end.set()

    def pause(self, paused: bool) -> None:
        self.calls.put(f"pause {paused}")

    def limit(self, limit: RateLimit) -> None:
        self.calls.put(f"limit {limit.records}")

    def move(self, reason: str) -> None:
        self.calls.put("move")

    def reset_topics(self, at: int) -> None:
        self.calls.put("forget topics")


def test_requests_made_before_the_runner_exists_are_kept() -> None:
    may_build, ended = threading.Event(), threading.Event()
    runner = Runner(task_spec("x"), None)

    def factory(spec: TaskSpec, host: Any) -> Runner:
        may_build.wait(10)
        return runner

    task = TaskThread(task_spec("x"), RecordingHost(), factory, lambda spec: ended.set())
    task.start()
    task.pause(True)
    task.stop()
    may_build.set()
    assert ended.wait(5)
    assert [runner.calls.get(timeout=5) for _ in range(2)] == ["pause True", "stop"]


def test_the_latest_request_to_pause_or_resume_wins() -> None:
    runner = Runner(task_spec("x"), None)
    task = TaskThread(task_spec("x"), RecordingHost(), lambda spec, host: runner, lambda spec: None)
    task.start()
    for paused in (True, False) * 20:
        task.pause(paused)
    calls = [runner.calls.get(timeout=5) for _ in range(40)]
    task.stop()
    assert calls[-1] == "pause False"


def test_a_runner_that_cannot_be_created_fails_the_task() -> None:
    def factory(spec: TaskSpec, host: Any) -> Runner:
        raise ImportError("no such task class")

    host, ended = RecordingHost(), threading.Event()
    TaskThread(task_spec("x"), host, factory, lambda spec: ended.set()).start()
    assert ended.wait(5)
    assert host.states == [State.FAILED]
    assert "ImportError: no such task class" in host.trace
