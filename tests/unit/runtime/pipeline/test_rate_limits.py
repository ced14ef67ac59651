"""Rate limits of tasks on a real broker: rates, changes while the task runs, and requests to a throttled task."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime.api import SourceRecord, SourceTask
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import (
    file_sink,
    file_source,
    group_offsets,
    messages,
    records,
    source_offsets,
)
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import soon, wait_until

LINES = 12_000
LINE = 100  # bytes
QUICK = 15.0  # seconds within which a throttled task has to answer; far less than its limits would take
HERE = "tests.unit.runtime.pipeline.test_rate_limits"


class Bulky(SourceTask):
    """Polls `size` records at once, and notes the times of commit(), in milliseconds since 1970."""

    size = 150
    commits: ClassVar[list[int]] = []

    def start(self, config: object) -> None:
        self._number = 0

    def poll(self) -> Sequence[SourceRecord]:
        numbers = range(self._number, self._number + self.size)
        self._number += self.size
        return [SourceRecord({"p": 1}, {"n": n}, self.context.configs["topic"], str(n)) for n in numbers]

    def commit(self) -> None:
        self.commits.append(int(time.time() * 1000))


class Transactional(SourceTask):
    """Polls a record at a time, `size` of them in a transaction."""

    size = 20

    def start(self, config: object) -> None:
        self._number = 0

    def poll(self) -> Sequence[SourceRecord]:
        transactions = self.context.transactions
        assert transactions is not None
        self._number += 1
        if self._number % self.size == 0:
            transactions.commit()
        return [SourceRecord({"p": 1}, {"n": self._number}, self.context.configs["topic"], str(self._number))]


@pytest.fixture
def bulky() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Bulky
    found.commits.clear()
    return found


def lines(number: int = LINES) -> list[bytes]:
    return [f"{n:0{LINE}d}".encode() for n in range(number)]


def source(broker: KafkaBroker, folder: Path, limit: RateLimit) -> TaskSpec:
    file = folder / "in.txt"
    file.write_bytes(b"\n".join([*lines(), b""]))
    return replace(file_source(broker, file, broker.create_topic()), limit=limit)


def sink(broker: KafkaBroker, folder: Path, limit: RateLimit) -> TaskSpec:
    topic = broker.create_topic()
    broker.produce(topic, *lines())
    return replace(file_sink(broker, folder / "out.txt", topic), limit=limit)


def written(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def rates(done: Callable[[], int], seconds: float = 1.5) -> tuple[float, float]:
    """The least and the most records per second after the first ones: each reading takes a time."""
    wait_until(lambda: done() > 0)
    times = [time.monotonic()]
    first = done()
    times.append(time.monotonic())
    time.sleep(seconds)
    times.append(time.monotonic())
    more = done() - first
    return more / (time.monotonic() - times[0]), more / (times[2] - times[1])


@pytest.mark.parametrize("limit", [RateLimit(records=300), RateLimit(bytes=300 * LINE)], ids=["records", "bytes"])
def test_a_source_keeps_within_its_limit_until_it_is_lifted(
    broker: KafkaBroker, tmp_path: Path, limit: RateLimit
) -> None:
    spec = source(broker, tmp_path, limit)
    task, topic = RunningTask(spec), spec.config["topic"]
    least, most = rates(lambda: count(broker.bootstrap, topic))
    assert least < 400 and most > 150  # at most the limit, and half of it made up for
    task.runner.limit(UNLIMITED)
    wait_until(lambda: count(broker.bootstrap, topic) == LINES, QUICK)
    assert task.host.states == [State.RUNNING], "the task continues with another limit"
    assert task.runner.meter.throttled_ms > 500
    task.stop()
    assert [value for _, value in records(broker, topic)] == lines()


def _has_sent_parts(broker: KafkaBroker, topic: str, bulky: Any) -> bool:
    return bool(bulky.commits) and count(broker.bootstrap, topic) > 3.5 * bulky.size


def test_a_large_poll_is_spread_and_the_task_is_told_of_commits_between_polls(broker: KafkaBroker, bulky: Any) -> None:
    """The task may discard what it has polled when commit() is called, so that nothing may be held back then."""
    for _ in range(10):  # until the task is stopped between the parts of a poll
        bulky.commits.clear()
        topic = broker.create_topic()
        spec = file_source(broker, Path("unused"), topic, task_class=f"{HERE}:Bulky", limit=RateLimit(records=300))
        task = RunningTask(spec)
        wait_until(partial(_has_sent_parts, broker, topic, bulky), 60)
        task.stop(QUICK)
        sent = [message.timestamp()[1] for message in messages(broker, topic)]
        if len(sent) % bulky.size:
            break
    assert len(sent) % bulky.size
    gaps = [later - earlier for earlier, later in pairwise(sent) if later - earlier > 20]
    assert statistics.median(gaps) < soon(0.15) * 1000, "milliseconds; a part is a tenth of a second's share"
    # records of the millisecond of a commit may have been sent before it or after it
    before = [(sum(at < commit for at in sent), sum(at <= commit for at in sent)) for commit in bulky.commits]
    assert all(most // bulky.size * bulky.size >= least for least, most in before), before


def test_a_transaction_that_only_the_task_can_end_is_not_delayed_until_kafka_aborts_it(broker: KafkaBroker) -> None:
    topic, timeout = broker.create_topic(), 2.0
    spec = file_source(
        broker, Path("unused"), topic, task_class=f"{HERE}:Transactional", limit=RateLimit(records=0.1),
        transactional_id=unique("t"), transaction_boundary="connector", producer_shared=False,
    )  # fmt: skip
    producer = {"transactional.id": spec.transactional_id, "transaction.timeout.ms": int(timeout * 1000)}
    ends = TopicEnds(broker.bootstrap, topic)
    begun = time.monotonic()
    task = RunningTask(replace(spec, producer={**spec.producer, **producer}))
    wait_until(lambda: ends.committed() > Transactional.size, 30)
    assert time.monotonic() - begun > timeout / 4, "delayed at first"
    time.sleep(0.5)
    assert not ends.is_open(), "the next transaction waits until the average is within the limit"
    assert task.host.states == [State.RUNNING]
    task.stop(QUICK)
    assert len(messages(broker, topic)) == Transactional.size


def test_a_stopped_source_neither_loses_nor_repeats_records_that_the_limit_held_back(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    spec = source(broker, tmp_path, RateLimit(records=500))
    topic = spec.config["topic"]
    for least in (100, 300):
        task = RunningTask(replace(spec, offsets=source_offsets(broker, spec)))
        wait_until(lambda least=least: count(broker.bootstrap, topic) >= least)  # type: ignore[misc]
        task.stop(QUICK)
    task = RunningTask(replace(spec, offsets=source_offsets(broker, spec), limit=UNLIMITED))
    wait_until(lambda: count(broker.bootstrap, topic) >= LINES)
    task.stop()
    assert [value for _, value in records(broker, topic)] == lines()


@pytest.mark.parametrize("limit", [RateLimit(records=300), RateLimit(bytes=300 * LINE)], ids=["records", "bytes"])
def test_a_sink_keeps_within_its_limit_until_it_is_lifted(
    broker: KafkaBroker, tmp_path: Path, limit: RateLimit
) -> None:
    spec, file = sink(broker, tmp_path, limit), tmp_path / "out.txt"
    task = RunningTask(spec)
    least, most = rates(lambda: written(file))
    assert least < 400 and most > 150
    task.runner.limit(UNLIMITED)
    wait_until(lambda: written(file) == LINES, QUICK)
    task.stop()
    assert file.read_bytes().splitlines() == lines()
    assert group_offsets(broker, spec) == {(spec.topics[0], 0): LINES}


def test_the_lag_of_a_throttled_sink_follows_the_ends_of_its_partitions(broker: KafkaBroker, tmp_path: Path) -> None:
    """The client has fetched thousands of records ahead, so that it learns no ends from further fetches."""
    spec = sink(broker, tmp_path, RateLimit(records=20))
    task = RunningTask(spec)
    wait_until(lambda: (task.runner.meter.lag or 0) > LINES // 2, 20)
    broker.produce(spec.topics[0], *lines())
    wait_until(lambda: (task.runner.meter.lag or 0) > LINES * 3 // 2, 20)
    task.stop(QUICK)


def test_a_throttled_sink_takes_part_in_rebalances_pauses_and_stops(broker: KafkaBroker, tmp_path: Path) -> None:
    """One record in a hundred seconds: the task waits nearly all the time."""
    topic = broker.create_topic(partitions=2)
    for partition in (0, 1):
        broker.produce(topic, *lines(500), partition=partition)
    group, slow = unique("connect-g"), RateLimit(records=0.01)
    specs = [replace(file_sink(broker, tmp_path / f"{n}.txt", topic, group=group), limit=slow) for n in (0, 1)]
    specs = [replace(spec, consumer={**spec.consumer, "heartbeat.interval.ms": 300}) for spec in specs]
    first = RunningTask(specs[0])
    wait_until(lambda: written(tmp_path / "0.txt") == 1)
    second = RunningTask(specs[1])
    wait_until(lambda: written(tmp_path / "1.txt") == 1, 60)  # it has received one of the partitions
    assert written(tmp_path / "0.txt") == 1
    first.runner.pause(True)
    first.wait_state(State.PAUSED, QUICK)
    first.runner.pause(False)
    first.wait_state(State.RUNNING, QUICK)
    begun = time.monotonic()
    first.stop(QUICK)
    second.stop(QUICK)
    assert time.monotonic() - begun < QUICK
    assert sum(group_offsets(broker, specs[0]).values()) == 2
