"""Async sink tasks on a real broker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime.api import AsyncSinkTask, RetriableError, SinkRecord, TopicPartition
from runtime.model.states import State
from tests.support.broker import KafkaBroker
from tests.support.connect import dead_letters
from tests.support.tasks.pipeline import file_sink, group_offsets, records
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.sink.test_async_sink"


class Collecting(AsyncSinkTask):
    """Notes its calls; refuses the first `refuse` puts, and reports the value `bad` as failed."""

    events: list[Any] = []  # noqa: RUF012 - the fixture replaces it
    refuse = 0

    async def start(self, config: Mapping[str, str]) -> None:
        self.written: asyncio.Queue[Any] = asyncio.Queue()
        self.loop, self.kept = asyncio.get_running_loop(), 0
        self.writer = asyncio.create_task(self._write())
        self.events.append("start")

    async def _write(self) -> None:
        while True:
            self.events.append(await self.written.get())
            self.written.task_done()

    async def open(self, partitions: Sequence[TopicPartition]) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.events.append(("open", len(partitions), len(self.context.assignment)))

    async def put(self, records: Sequence[SinkRecord]) -> None:
        await asyncio.sleep(0)
        cls = type(self)
        if records and cls.refuse:
            cls.refuse -= 1
            self.context.timeout(0.01)
            raise RetriableError("not yet")
        for record in records:
            if record.value == "bad":
                assert self.context.errant_record_reporter is not None
                await self.context.errant_record_reporter.report(record, ValueError("bad"))
            else:
                self.written.put_nowait(record.value)
        if not records:
            self.events.append("idle")
            type(self).idle_put = None
            self.idle_put = None

    async def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        await self.written.join()
        self.events.append("flush")

    async def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("close", len(partitions)))

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self.events.append("stop")


@pytest.fixture
def collecting() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Collecting
    found.events, found.refuse, found.idle_put = [], 0, None
    return found


def test_the_calls_of_an_async_sink(broker: KafkaBroker, tmp_path: Path, collecting: Any) -> None:
    topic, letters = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b"one", b"bad", b"two")
    collecting.refuse = 2
    spec = file_sink(
        broker, tmp_path / "x", topic, task_class=f"{HERE}:Collecting", config=dead_letters(letters),
        flush_interval=3600.0, producer={"bootstrap.servers": broker.bootstrap},
    )  # fmt: skip
    task = RunningTask(spec)
    wait_until(lambda: "two" in collecting.events)
    task.stop()
    assert collecting.events == ["start", ("open", 1, 1), "one", "two", "flush", ("close", 1), "stop"]
    assert collecting.refuse == 0
    assert group_offsets(broker, spec) == {(topic, 0): 3}
    assert [value for _, value in records(broker, letters)] == [b"bad"]
    assert task.host.states == [State.RUNNING]


def test_an_async_sink_may_linger(broker: KafkaBroker, tmp_path: Path, collecting: Any) -> None:
    collecting.idle_put = 0.05
    task = RunningTask(file_sink(broker, tmp_path / "x", broker.create_topic(), task_class=f"{HERE}:Collecting"))
    wait_until(lambda: "idle" in collecting.events)
    task.stop()
    assert collecting.events.count("idle") == 1, "the attribute may change at any time"
