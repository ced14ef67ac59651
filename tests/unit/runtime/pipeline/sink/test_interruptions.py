"""A stop, a pause, a seek, a rebalance or a failed flush of a sink task loses no record and writes none twice."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import SinkTask
from runtime.model.states import State
from tests.support.broker import KafkaBroker, unique
from tests.support.plugins import PLUGINS
from tests.support.tasks.pipeline import file_sink, group_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

FOLDERS = [PLUGINS]


HERE = "tests.unit.runtime.pipeline.sink.test_interruptions"


TEN = [str(n).encode() for n in range(10)]


def plugin(name: str) -> Any:
    """The plugin class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    return getattr(sys.modules[HERE], name)


class Sink(SinkTask):
    """Keeps records until the flush; class attributes select what fails."""

    puts: ClassVar[list[tuple[int, int]]] = []
    durable: ClassVar[list[tuple[int, int]]] = []
    refusing = threading.Event()
    refused = 0
    lost_flushes = 0
    begin_at: int | None = None
    asks_for_a_commit = False
    goes_back_to: int | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.taken: list[tuple[int, int]] = []

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        if self.begin_at is not None:
            self.context.seek(dict.fromkeys(partitions, self.begin_at))

    def put(self, records: Sequence[SinkRecord]) -> None:
        cls = type(self)
        if cls.refusing.is_set():
            cls.refused += 1
            self._ask()
            raise RetriableError("not yet")
        places = [(r.original_kafka_partition, r.original_kafka_offset) for r in records]
        cls.puts += places
        self.taken += places

    def _ask(self) -> None:
        cls = type(self)
        if cls.asks_for_a_commit:
            self.context.request_commit()
        if cls.goes_back_to is not None:
            self.context.seek(dict.fromkeys(self.context.assignment, cls.goes_back_to))
            cls.goes_back_to = None

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        cls = type(self)
        if self.taken and cls.lost_flushes:
            cls.lost_flushes -= 1
            self.taken.clear()
            raise RetriableError("the connection was lost with all records that were not flushed")
        cls.durable += self.taken
        self.taken = []


class RemoteSink(Sink):
    """The same with puts on another thread."""

    puts_on_thread = True


@pytest.fixture
def sink(request: pytest.FixtureRequest) -> Any:
    found = plugin(getattr(request, "param", "Sink"))
    found.puts, found.durable, found.refused, found.lost_flushes, found.begin_at = [], [], 0, 0, None
    found.asks_for_a_commit, found.goes_back_to = False, None
    found.refusing.clear()
    return found


AWAY = {
    "transforms": "a",
    "transforms.a.type": "headrace_test_transforms.Misbehaving",
    "transforms.a.how": "later",
    "errors.retry.timeout": "-1",
}


def test_a_failed_flush_before_the_first_commit_rewinds_to_the_beginning(
    broker: KafkaBroker, topic: str, sink: Any
) -> None:
    broker.produce(topic, *TEN)
    sink.lost_flushes = 1
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    task.stop()
    assert sink.durable == [(0, n) for n in range(10)]


def test_no_offset_is_committed_for_a_partition_without_records(broker: KafkaBroker, topic: str, sink: Any) -> None:
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(spec)
    wait_until(lambda: task.host.members, what="a member of the group")
    wait_until(lambda: [line for line in task.host.lines if "Assigned" in line], what="its partition")
    task.stop()
    assert group_offsets(broker, spec) == {}


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_record_that_is_retried_at_a_stop_is_processed_after_the_next_start(
    broker: KafkaBroker, topic: str, tmp_path: Path, tolerance: str, sink: Any
) -> None:
    broker.produce(topic, b"one")
    config = {**AWAY, "errors.tolerance": tolerance}
    spec = file_sink(broker, tmp_path / "x", topic, task_class=f"{HERE}:Sink", config=config, plugin_path=FOLDERS)
    task = RunningTask(spec)
    wait_until(lambda: task.runner.errors is not None and task.runner.errors.retries)
    task.stop()
    assert task.host.states == [State.RUNNING] and sink.puts == [] and group_offsets(broker, spec) == {}


def test_a_seek_in_open_applies_from_the_first_record(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic(partitions=4)
    for partition in range(4):
        broker.produce(topic, *TEN, partition=partition)
    sink.begin_at = 5
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink"))
    wait_until(lambda: len(sink.puts) >= 20)
    task.stop()
    assert sorted(sink.puts) == [(partition, n) for partition in range(4) for n in range(5, 10)]


@pytest.mark.parametrize("sink", ["Sink", "RemoteSink"], indirect=True)
def test_a_partition_that_is_revoked_and_assigned_again_while_put_is_retried(broker: KafkaBroker, sink: Any) -> None:
    from confluent_kafka import Consumer

    topic = broker.create_topic(partitions=2)
    for partition in range(2):
        broker.produce(topic, *TEN, partition=partition)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:{sink.__name__}")
    spec = replace(spec, consumer={**spec.consumer, "heartbeat.interval.ms": 300})
    sink.refusing.set()
    task = RunningTask(spec)
    wait_until(lambda: sink.refused >= 1)
    other = Consumer({**spec.consumer, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0})
    other.subscribe([topic])
    wait_until(lambda: other.poll(0.2) is not None, what="the other member reads")
    other.close()
    wait_until(
        lambda: len([line for line in task.host.lines if "Assigned: " in line]) >= 3,
        60,
        "all partitions are assigned again",
    )
    sink.refusing.clear()
    wait_until(lambda: len(set(sink.puts)) == 20)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10, (topic, 1): 10})
    task.stop()
    assert max(Counter(sink.puts).values()) == 1


def test_a_pause_takes_effect_while_put_is_retried(broker: KafkaBroker, topic: str, sink: Any) -> None:
    broker.produce(topic, b"one")
    sink.refusing.set()
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink"))
    wait_until(lambda: sink.refused >= 1)
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    sink.refusing.clear()
    task.runner.pause(False)
    wait_until(lambda: sink.puts == [(0, 0)])
    task.stop()
    assert task.host.states == [State.RUNNING, State.PAUSED, State.RUNNING]


def test_offsets_of_earlier_batches_are_committed_while_put_is_retried(
    broker: KafkaBroker, topic: str, sink: Any
) -> None:
    broker.produce(topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    sink.asks_for_a_commit = True
    sink.refusing.set()
    broker.produce(topic, b"eleven")
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10}, 10)
    assert sink.refused and len(sink.puts) == 10
    sink.refusing.clear()
    task.stop()
    assert group_offsets(broker, spec) in ({(topic, 0): 10}, {(topic, 0): 11})


def test_a_seek_while_put_is_retried_replaces_the_batch(broker: KafkaBroker, topic: str, sink: Any) -> None:
    broker.produce(topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    sink.goes_back_to = 5
    sink.refusing.set()
    broker.produce(topic, *TEN)
    wait_until(lambda: sink.refused >= 2, 10)
    sink.refusing.clear()
    wait_until(lambda: len(sink.puts) >= 25, 10)
    task.stop()
    assert sink.puts == [(0, n) for n in [*range(10), *range(5, 20)]]
    assert group_offsets(broker, spec) == {(topic, 0): 20}


def test_offsets_are_committed_before_the_task_reports_paused(broker: KafkaBroker, topic: str, sink: Any) -> None:
    broker.produce(topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    assert group_offsets(broker, spec) == {}
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    assert group_offsets(broker, spec) == {(topic, 0): 10}
    task.stop()


def test_a_missing_offset_without_a_reset_policy_fails_the_task(broker: KafkaBroker, topic: str) -> None:
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(replace(spec, consumer={**spec.consumer, "auto.offset.reset": "error"}))
    task.join(60)
    assert f"Undefined offset with no reset policy for partitions: [{topic}-0]" in task.host.trace


class HangingFlush(SinkTask):
    """Its flush() hangs until `release` is set."""

    release = threading.Event()

    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, records: object) -> None: ...

    def flush(self, offsets: object) -> None:
        self.release.wait(30)


def test_the_watchdog_sees_a_hanging_flush_as_precommit(broker: KafkaBroker, topic: str) -> None:
    broker.produce(topic, b"one")
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:HangingFlush"))
    wait_until(lambda: task.runner.call is not None and task.runner.call.method == "preCommit")
    HangingFlush.release.set()
    task.stop()


def test_topics_regex_matches_all_topics_except_kafkas_internal_ones(broker: KafkaBroker, sink: Any) -> None:
    stem = unique("pattern")
    plain, hidden = broker.create_topic(f"{stem}-a"), broker.create_topic(f"__{stem}-b")
    for topic in (plain, hidden):
        broker.produce(topic, b"one")
    spec = file_sink(broker, Path("x"), task_class=f"{HERE}:Sink")
    spec = replace(spec, topics_regex=f"(__)?({stem}-.|consumer_offsets)")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(plain, 0): 1, (hidden, 0): 1}, 60)
    task.stop()
    assert set(task.host.topics) == {plain, hidden}
