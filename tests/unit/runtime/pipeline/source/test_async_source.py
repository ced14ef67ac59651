"""Async source tasks on a real broker: poll() waits on an event loop of its own."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.api import AsyncSourceTask, RecordMetadata, RetriableError, SourceRecord, SourceTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.task.async_adapter import is_async
from tests.support.broker import KafkaBroker
from tests.support.kafka.committed import committed_offsets
from tests.support.tasks import pipeline
from tests.support.tasks.pipeline import records, source_offsets, source_task
from tests.support.tasks.slot_host import RecordingHost, RunningTask
from tests.support.waiting import soon, wait_until

HERE = "tests.unit.runtime.pipeline.source.test_async_source"


class Queued(AsyncSourceTask):
    """Polls what a test puts into the queue: values, or functions that poll() calls."""

    running: Queued | None = None
    events: list[Any] = []  # noqa: RUF012 - the fixture replaces it
    blocked_start = False

    async def start(self, config: Mapping[str, str]) -> None:
        cls = type(self)
        self.loop, self.queue = asyncio.get_running_loop(), asyncio.Queue[Any]()
        self.known = await self.context.offsets.offset({"p": 1})
        self.sent, self.ticks = 0, 0
        self.ticker = asyncio.create_task(self._tick())
        cls.running = self
        if self.blocked_start:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.events.append("start cancelled")
                raise

    async def _tick(self) -> None:
        try:
            while True:
                self.ticks += 1
                await asyncio.sleep(0.001)
        finally:
            self.events.append("ticker ended")

    async def poll(self) -> Sequence[SourceRecord] | None:
        try:
            value = await self.queue.get()
        except asyncio.CancelledError:
            self.events.append("poll cancelled")
            raise
        if callable(value):
            value = value()
        if value is None:
            return None
        self.sent += 1
        return [SourceRecord({"p": 1}, {"n": self.sent}, self.context.configs["topic"], value)]

    async def commit(self) -> None:
        await asyncio.sleep(0)
        self.events.append(("commit", self.sent))

    async def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        await asyncio.sleep(0)
        self.events.append(("record", record.value, metadata and metadata.offset))

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self.events.append("stop")

    def put(self, *values: Any) -> None:
        for value in values:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, value)


@pytest.fixture
def queued() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Queued
    found.running, found.events, found.blocked_start = None, [], False
    return found


def _spec(broker: KafkaBroker, exactly_once: bool = False, **more: Any) -> TaskSpec:
    topic, value = broker.create_topic(), ConverterSpec("ByteArrayConverter")
    spec = source_task(broker, f"{HERE}:Queued", {"topic": topic}, value_converter=value, flush_interval=0.1)
    return replace(pipeline.exactly_once(spec) if exactly_once else spec, **more)


def _run(broker: KafkaBroker, queued: Any, spec: TaskSpec) -> tuple[RunningTask, Any]:
    read = committed_offsets if spec.transactional_id else source_offsets
    task = RunningTask(spec, RecordingHost(lambda spec: read(broker, spec)))
    task.wait_state(State.RUNNING)
    return task, queued.running


def _values(broker: KafkaBroker, spec: TaskSpec) -> list[bytes | None]:
    return [value for _, value in records(broker, spec.config["topic"]) if value is not None]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_offsets_are_committed_while_poll_waits(broker: KafkaBroker, queued: Any, exactly_once: bool) -> None:
    spec = _spec(broker, exactly_once)
    task, plugin = _run(broker, queued, spec)
    plugin.put(b"one", b"two")
    wait_until(lambda: ("record", b"two", 1 + exactly_once) in queued.events)
    wait_until(lambda: ("commit", 2) in queued.events)
    read = asyncio.run_coroutine_threadsafe(plugin.context.offsets.offset({"p": 1}), plugin.loop)
    assert read.result(30) == {"n": 2}
    task.stop()
    assert [event[1] for event in queued.events if event[0] == "record"] == [b"one", b"two"]
    assert task.host.states == [State.RUNNING]
    known = (committed_offsets if exactly_once else source_offsets)(broker, spec)
    again, plugin = _run(broker, queued, replace(spec, epoch=2, offsets=known))
    assert plugin.known == {"n": 2}
    again.stop()


def test_a_stop_ends_a_pending_poll_at_once(broker: KafkaBroker, queued: Any) -> None:
    task, _ = _run(broker, queued, _spec(broker))
    threads = {thread.name for thread in threading.enumerate()}
    assert any(name.endswith("-loop") for name in threads)
    started = time.monotonic()
    task.stop()
    assert time.monotonic() - started < soon(1)
    assert "poll cancelled" in queued.events and "ticker ended" in queued.events
    assert not any(t.name == f"{task.runner._spec.id}-loop" for t in threading.enumerate()), "no thread is left"


def test_a_stop_cancels_start(broker: KafkaBroker, queued: Any) -> None:
    queued.blocked_start = True
    task = RunningTask(_spec(broker))
    wait_until(lambda: queued.running is not None)
    task.stop(5.0)
    assert queued.events == ["start cancelled", "stop", "ticker ended"]
    assert task.host.states == []


def test_background_tasks_and_a_pending_poll_go_on_during_a_pause(broker: KafkaBroker, queued: Any) -> None:
    spec = _spec(broker)
    task, plugin = _run(broker, queued, spec)
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    before = plugin.ticks
    plugin.put(b"while paused", b"later")
    wait_until(lambda: plugin.ticks > before + 50 and plugin.sent == 1)
    assert _values(broker, spec) == []
    task.runner.pause(False)
    wait_until(lambda: _values(broker, spec) == [b"while paused", b"later"])
    task.stop()


def _raise(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_errors_of_poll_fail_the_task_unless_they_are_retriable(broker: KafkaBroker, queued: Any) -> None:
    spec = _spec(broker)
    task, plugin = _run(broker, queued, spec)
    plugin.put(_raise(RetriableError("not yet")), b"one")
    wait_until(lambda: _values(broker, spec) == [b"one"])
    plugin.put(_raise(SystemExit(3)))
    task.join()
    assert task.host.states[-1] is State.FAILED
    assert "SystemExit: 3" in task.host.trace
    assert queued.events[-2:] == ["stop", "ticker ended"]


def test_a_poll_that_the_plugin_cancels_itself_fails_the_task(broker: KafkaBroker, queued: Any) -> None:
    task, plugin = _run(broker, queued, _spec(broker))
    plugin.put(_raise(asyncio.CancelledError()))
    task.join()
    assert "poll() was cancelled by the plugin" in task.host.trace


def test_lines_that_coroutines_log_carry_the_name_of_the_task(broker: KafkaBroker, queued: Any) -> None:
    spec = _spec(broker)
    task, plugin = _run(broker, queued, spec)
    plugin.put(lambda: logging.getLogger("plugin").warning("hello"))
    line = f"WARN plugin [{spec.connector}|task-0] hello"
    wait_until(lambda: line in task.host.lines)
    task.stop()


def test_a_call_that_blocks_the_event_loop_counts_as_a_running_poll(broker: KafkaBroker, queued: Any) -> None:
    """The watchdog reports calls that do not return."""
    released = threading.Event()
    task, plugin = _run(broker, queued, replace(_spec(broker), flush_interval=3600.0))  # no commit() in between
    plugin.put(lambda: released.wait(30) and None)
    wait_until(lambda: (call := task.runner.call) is not None and call.since < time.monotonic() - 0.3)
    call = task.runner.call
    assert call is not None and call.method == "poll"
    assert call.stack is not None and "released.wait(30)" in call.stack()
    released.set()
    task.stop()


def test_the_stack_of_a_waiting_task_shows_its_coroutines(broker: KafkaBroker, queued: Any) -> None:
    task, _ = _run(broker, queued, _spec(broker))
    stack_of = task.runner._control.plugin_stack
    assert stack_of is not None
    wait_until(lambda: "poll():" in stack_of())
    stack = stack_of()
    assert "value = await self.queue.get()" in stack and "in get" in stack
    task.stop()


def test_a_revoked_task_ends_without_a_commit(broker: KafkaBroker, queued: Any) -> None:
    spec = _spec(broker)
    task, plugin = _run(broker, queued, replace(spec, flush_interval=3600.0))
    plugin.put(b"one")
    wait_until(lambda: _values(broker, spec) == [b"one"])
    task.runner.revoke()
    task.join(5.0)
    assert source_offsets(broker, spec) == []
    assert queued.events[-2:] == ["stop", "ticker ended"]


class Sync(SourceTask):
    def start(self, config: Mapping[str, str]) -> None: ...

    def poll(self) -> None: ...


class Mixed(Sync):
    async def poll(self) -> None:  # type: ignore[override]  # an author without a type checker
        ...


def test_a_task_is_async_if_a_method_is_a_coroutine_function(queued: Any) -> None:
    assert is_async(queued()) and is_async(Mixed())
    assert not is_async(Sync())
