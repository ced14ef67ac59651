"""Calls of put() without records, and the delay that a task requests."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime.api import RetriableError, SinkRecord, SinkTask, TopicPartition
from runtime.model.states import State
from runtime.pipeline.sink.put_ahead import EmptyPuts
from runtime.pipeline.sink.sink_context import SinkContext
from tests.support.broker import KafkaBroker
from tests.support.clock import Clock
from tests.support.tasks.pipeline import file_sink, group_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.sink.test_empty_puts"


class Lingering(SinkTask):
    """Notes its puts; class attributes select when it fails and what it requests."""

    puts: list[tuple[float, int]] = []  # noqa: RUF012 - the fixture replaces it
    refuse = 0
    requested: float | None = None

    def start(self, config: object) -> None: ...

    def put(self, records: Sequence[SinkRecord]) -> None:
        cls = type(self)
        cls.puts.append((time.monotonic(), len(records)))
        if cls.requested is not None:
            self.context.timeout(cls.requested)
        if cls.refuse:
            cls.refuse -= 1
            raise RetriableError("not yet")
        cls.requested = None


@pytest.fixture
def lingering() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Lingering
    found.puts, found.refuse, found.requested, found.idle_put, found.empty_puts = [], 0, None, None, False
    return found


NEVER = float("inf")


def test_times_of_empty_puts() -> None:
    clock, task, context = Clock(100.0), Lingering(), SinkContext({})
    context.positions[TopicPartition("t", 0)] = 0
    empty = EmptyPuts(task, context, clock)
    assert (empty.due(clock.now), empty.wait(0.4, clock.now)) == (False, 0.4), "a commit needs no empty put"
    task.idle_put = 2.0
    clock.now += 1.9
    assert not empty.due(NEVER) and empty.wait(0.4, NEVER) == pytest.approx(0.1)
    clock.now += 0.1
    assert empty.due(NEVER) and empty.wait(0.4, NEVER) == 0
    assert not empty.due(NEVER, paused=True)
    empty.called()
    assert not empty.due(NEVER)
    context.timeout(0.5)
    assert empty.wait(3.0, NEVER) == 0.5, "the earlier of both"
    clock.now += 0.5
    assert empty.due(NEVER)
    empty.called()
    assert empty.wait(3.0, NEVER) == 2.0, "a timeout applies once"


def test_times_of_connects_empty_puts() -> None:
    """Before each commit, also of a paused task and of one without partitions."""

    class Connects(Lingering):
        empty_puts = True

    clock, context = Clock(100.0), SinkContext({})
    empty = EmptyPuts(Connects(), context, clock)
    commit = clock.now + 60
    assert not empty.due(commit) and empty.wait(0.4, commit) == 0.4
    clock.now += 59.9
    assert empty.wait(0.4, commit) == pytest.approx(0.1)
    context.timeout(0.05)
    assert empty.wait(0.4, commit) == pytest.approx(0.05)
    empty.called()
    clock.now += 0.1
    assert empty.due(commit) and empty.due(commit, paused=True)
    assert not empty.due(commit + 60)


def test_put_is_called_at_an_interval_while_there_are_no_records(
    broker: KafkaBroker, tmp_path: Path, lingering: Any
) -> None:
    topic = broker.create_topic()
    lingering.idle_put = 0.05
    task = RunningTask(file_sink(broker, tmp_path / "x", topic, task_class=f"{HERE}:Lingering"))
    wait_until(lambda: len(lingering.puts) > 5)
    assert {count for _, count in lingering.puts} == {0}
    broker.produce(topic, b"one")
    wait_until(lambda: any(count == 1 for _, count in lingering.puts))
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    puts = len(lingering.puts)
    task.runner.pause(False)
    wait_until(lambda: len(lingering.puts) > puts)
    task.stop()


def test_without_the_attribute_put_gets_records_only(broker: KafkaBroker, tmp_path: Path, lingering: Any) -> None:
    topic = broker.create_topic()
    broker.produce(topic, b"one")
    spec = file_sink(broker, tmp_path / "x", topic, task_class=f"{HERE}:Lingering")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 1})
    task.stop()
    assert [count for _, count in lingering.puts] == [1]


def test_timeout_sets_the_delay_after_a_retriable_error(broker: KafkaBroker, tmp_path: Path, lingering: Any) -> None:
    topic = broker.create_topic()
    broker.produce(topic, b"one")
    lingering.refuse, lingering.requested = 2, 0.7
    task = RunningTask(file_sink(broker, tmp_path / "x", topic, task_class=f"{HERE}:Lingering"))
    wait_until(lambda: len(lingering.puts) == 4)
    task.stop()
    (a, b, c, d) = lingering.puts
    assert [count for _, count in lingering.puts] == [1, 1, 1, 0], "the last call is requested after the success"
    assert b[0] - a[0] >= 0.7 and c[0] - b[0] >= 0.7, "the default delay is 0.1 s"
    assert d[0] - c[0] >= 0.6


def test_an_empty_put_that_fails_is_retried(broker: KafkaBroker, tmp_path: Path, lingering: Any) -> None:
    lingering.idle_put, lingering.refuse = 0.1, 2
    task = RunningTask(file_sink(broker, tmp_path / "x", broker.create_topic(), task_class=f"{HERE}:Lingering"))
    wait_until(lambda: len(lingering.puts) >= 3)
    task.stop()
    assert task.host.states == [State.RUNNING] and lingering.refuse == 0
