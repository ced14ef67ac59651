"""Properties of a sink's consumer in a worker's file and a connector's config, on a real broker."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import SinkTask
from runtime.kafka.clients.settings import client_config
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.tasks.pipeline import file_sink, group_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.sink.test_consumer_properties"
PARTITIONS = 4

Call = tuple[str, str, Any]  # the task, the method, its argument


class CallsSink(SinkTask):
    """Records the calls of all tasks in order, with the task's `label`. Offsets are those of the last commit."""

    calls: ClassVar[list[Call]] = []

    def start(self, config: Mapping[str, str]) -> None:
        self._label = config["label"]

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._note("open", {tp.partition for tp in partitions})

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            self._note("put", (record.original_topic, record.original_kafka_partition, record.value))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._note("preCommit", {tp.partition for tp in offsets})
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._note("close", {tp.partition for tp in partitions})

    def stop(self) -> None:
        self._note("stop", None)

    def _note(self, method: str, argument: Any) -> None:
        self.calls.append((self._label, method, argument))


@pytest.fixture
def calls() -> list[Call]:
    """The calls of the class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found: list[Call] = sys.modules[HERE].CallsSink.calls
    found.clear()
    return found


def sink(
    broker: KafkaBroker,
    topics: Sequence[str],
    worker: Mapping[str, str],
    connector: Mapping[str, str] = {},
    **more: Any,
) -> TaskSpec:
    """A sink task with the consumer that these properties of worker and connector give it."""
    spec = file_sink(broker, Path("x"), *topics, task_class=f"{HERE}:CallsSink", config={"label": "a"}, **more)
    properties = {"bootstrap.servers": broker.bootstrap, **worker}
    return replace(spec, consumer={**client_config(properties, "consumer", connector).settings, **spec.consumer})


def of(calls: Sequence[Call], label: str, *methods: str) -> list[tuple[str, Any]]:
    return [(method, argument) for task, method, argument in calls if task == label and method in methods]


def values(calls: Sequence[Call]) -> list[bytes]:
    return [argument[2] for _, method, argument in calls if method == "put"]


ASSIGNOR = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


@pytest.mark.parametrize(
    ("worker", "connector"),
    [
        ({"consumer.partition.assignment.strategy": ASSIGNOR}, {}),
        ({}, {"consumer.override.partition.assignment.strategy": ASSIGNOR}),
    ],
)
def test_a_cooperative_rebalance_leaves_the_other_partitions_of_a_task_alone(
    broker: KafkaBroker, calls: list[Call], worker: dict[str, str], connector: dict[str, str]
) -> None:
    topic = broker.create_topic(partitions=PARTITIONS)
    spec = sink(broker, [topic], {**worker, "consumer.heartbeat.interval.ms": "300"}, connector, flush_interval=3600)
    first = RunningTask(spec)
    wait_until(lambda: of(calls, "a", "open") == [("open", {0, 1, 2, 3})])
    for partition in range(PARTITIONS):
        broker.produce(topic, *[f"{partition} {n}".encode() for n in range(10)], partition=partition)
    wait_until(lambda: len(values(calls)) == 40)
    second = RunningTask(replace(spec, task=1, config={**spec.config, "label": "b"}))
    wait_until(lambda: of(calls, "b", "open"))
    ((_, moved),) = of(calls, "b", "open")
    assert len(moved) == 2
    assert of(calls, "a", "open", "preCommit", "close") == [
        ("open", {0, 1, 2, 3}), ("preCommit", moved), ("close", moved),
    ]  # fmt: skip
    assert calls.index(("a", "close", moved)) < calls.index(("b", "open", moved))
    for partition in range(PARTITIONS):
        broker.produce(topic, f"{partition} last".encode(), partition=partition)
    wait_until(lambda: len(values(calls)) == 44)
    second.stop()
    wait_until(lambda: len(of(calls, "a", "open")) == 2)
    assert of(calls, "a", "open")[1] == ("open", moved)
    assert of(calls, "b", "preCommit", "close", "stop")[-3:] == [
        ("preCommit", moved), ("close", moved), ("stop", None),
    ]  # fmt: skip
    assert calls.index(("b", "stop", None)) < calls.index(("a", "open", moved)), "as in Connect"
    first.stop()
    assert len(values(calls)) == len(set(values(calls))) == 44
    assert group_offsets(broker, spec) == {(topic, n): 11 for n in range(PARTITIONS)}


def in_transaction(broker: KafkaBroker, topic: str, value: bytes, ends: str) -> Any:
    """A record in a transaction, which `ends` with the method of this name; returns its producer."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique("t")})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, value)
    assert producer.flush(20) == 0
    if ends:
        getattr(producer, ends)(20)
    return producer


@pytest.mark.parametrize("assignor", ["RoundRobinAssignor", "CooperativeStickyAssignor"])
def test_named_topics_may_be_created_and_deleted(
    broker: KafkaBroker, calls: list[Call], monkeypatch: pytest.MonkeyPatch, assignor: str
) -> None:
    """As with Java's consumer, which learns of both from its requests, long before its metadata is too old."""
    monkeypatch.setattr("runtime.pipeline.sink.subscription._IDS_INTERVAL", 0.2)
    kept, deleted, created = broker.create_topic(), broker.create_topic(), unique("later")
    strategy = f"org.apache.kafka.clients.consumer.{assignor}"
    own = {"consumer.partition.assignment.strategy": strategy, "consumer.allow.auto.create.topics": "false"}
    task = RunningTask(sink(broker, [kept, deleted, created], own, flush_interval=0.2))
    broker.produce(kept, b"1")
    broker.produce(deleted, b"2")
    wait_until(lambda: sorted(map(str, values(calls))) == ["1", "2"])
    broker.create_topic(created)
    broker.produce(created, b"3")
    wait_until(lambda: list(map(str, values(calls)))[2:] == ["3"])
    before = len(of(calls, "a", "close"))
    broker.delete_topics(deleted)
    wait_until(lambda: len(of(calls, "a", "close")) > before)
    broker.produce(kept, b"4")
    broker.produce(created, b"5")
    wait_until(lambda: len(values(calls)) == 5)
    task.stop()
    assert task.host.states == [State.RUNNING]
    assert sorted(map(str, values(calls))) == ["1", "2", "3", "4", "5"], "each record once"


@pytest.mark.parametrize(
    ("worker", "connector", "committed_only"),
    [
        ({}, {}, False),
        ({"consumer.isolation.level": "read_committed"}, {}, True),
        ({}, {"consumer.override.isolation.level": "read_committed"}, True),
        (
            {"consumer.isolation.level": "read_committed"},
            {"consumer.override.isolation.level": "READ_UNCOMMITTED"},
            False,
        ),
    ],
)
def test_the_isolation_level_decides_whether_a_sink_reads_open_and_aborted_transactions(
    broker: KafkaBroker, calls: list[Call], worker: dict[str, str], connector: dict[str, str], committed_only: bool
) -> None:
    topic = broker.create_topic()
    in_transaction(broker, topic, b"aborted", "abort_transaction")
    in_transaction(broker, topic, b"committed", "commit_transaction")
    open_transaction = in_transaction(broker, topic, b"open", "")
    task = RunningTask(sink(broker, [topic], worker, connector))
    expected = [b"committed"] if committed_only else [b"aborted", b"committed", b"open"]
    wait_until(lambda: [v.encode() if isinstance(v, str) else v for v in values(calls)] == expected)
    open_transaction.commit_transaction(20)
    broker.produce(topic, b"plain")
    wait_until(lambda: len(values(calls)) == (3 if committed_only else 4))
    task.stop()


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_the_markers_of_transactions_are_no_lag(broker: KafkaBroker, calls: list[Call], isolation: str) -> None:
    topic = broker.create_topic()
    in_transaction(broker, topic, b"one", "commit_transaction")
    in_transaction(broker, topic, b"two", "commit_transaction")
    task = RunningTask(sink(broker, [topic], {"consumer.isolation.level": isolation}))
    wait_until(lambda: len(values(calls)) == 2)
    wait_until(lambda: task.runner.meter.lag == 0, what="a lag of 0 behind the last marker")
    task.stop()


def test_a_pattern_takes_in_topics_that_appear_later_without_closing_the_others(
    broker: KafkaBroker, calls: list[Call]
) -> None:
    stem = unique("later")
    broker.produce(broker.create_topic(f"{stem}-a"), b"one")
    spec = sink(broker, [], {"consumer.partition.assignment.strategy": ASSIGNOR, "consumer.metadata.max.age.ms": "500"})
    task = RunningTask(replace(spec, topics_regex=f"{stem}-[ab]"))
    wait_until(lambda: len(values(calls)) == 1)
    broker.produce(broker.create_topic(f"{stem}-c"), b"another")
    broker.produce(broker.create_topic(f"{stem}-b"), b"two")
    wait_until(lambda: len(values(calls)) == 2)
    assert of(calls, "a", "close") == []
    assert len(of(calls, "a", "open")) == 2
    task.stop()
    assert task.host.states[-1] is State.RUNNING
    assert set(task.host.topics) == {f"{stem}-a", f"{stem}-b"}
    assert group_offsets(broker, spec) == {(f"{stem}-a", 0): 1, (f"{stem}-b", 0): 1}
