"""Where a sink task reads a partition without a valid offset: `auto.offset.reset`."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from runtime.api.data.record import TopicPartition as RecordPartition
from runtime.kafka.clients import open_clients
from runtime.kafka.clients.offset_reset import offset_reset
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.sink.assigned_topics import TopicIds
from runtime.pipeline.sink.starting_offsets import Reset, starting_offsets
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.topic_ids import slot_topic_ids
from tests.support.broker import KafkaBroker
from tests.support.tasks.pipeline import file_sink
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import allowed, wait_until

OLD = 7200


def _sink(broker: KafkaBroker, file: Path, topic: str, reset: str) -> TaskSpec:
    spec = file_sink(broker, file, topic)
    return replace(spec, consumer={**spec.consumer, **offset_reset("", reset)})


def _write(broker: KafkaBroker, topic: str, *values: str, age: float = 0.0) -> None:
    with broker.writing() as write:
        for value in values:
            write(topic, value, partition=0, timestamp=int((time.time() - age) * 1000))


def _reads(file: Path, *lines: str) -> None:
    wait_until(lambda: file.exists() and file.read_text().split() == list(lines))


def _delete_until(broker: KafkaBroker, topic: str, offset: int) -> None:
    """Delete the records before this offset, to which the group of no task has been moved."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(allowed(20))


def _commit(spec: TaskSpec, topic: str, offset: int) -> None:
    consumer = Consumer({**{k: v for k, v in spec.consumer.items() if "." in k and not k.startswith("headrace.")}})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def test_a_sink_without_offsets_reads_the_records_of_a_duration(
    broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    _write(broker, topic, "old", age=OLD)
    _write(broker, topic, "new")
    task = RunningTask(_sink(broker, tmp_path / "out", topic, "by_duration:PT1H"))
    _reads(tmp_path / "out", "new")
    task.stop()


class _Counting(Consumer):
    """Counts requests for offsets, each of which takes a round trip to the brokers."""

    requests = 0

    def offsets_for_times(self, *args: Any, **kwargs: Any) -> Any:
        self.requests += 1
        return super().offsets_for_times(*args, **kwargs)

    def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> Any:
        self.requests += 1
        return super().get_watermark_offsets(*args, **kwargs)


@pytest.mark.parametrize(("policy", "first"), [("earliest", 0), ("latest", 2), ("by_duration:PT1H", 1)])
def test_many_partitions_without_offsets_are_asked_for_together(broker: KafkaBroker, policy: str, first: int) -> None:
    topic = broker.create_topic(partitions=50)
    with broker.writing() as write:
        for partition in range(50):
            write(topic, "old", partition=partition, timestamp=int((time.time() - OLD) * 1000))
            write(topic, "new", partition=partition)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": topic}
    consumer = _Counting(settings)
    reset = Reset.of(offset_reset("", policy))
    assigned = [TopicPartition(topic, partition) for partition in range(52)]
    control, ids = TaskControl(False, lambda: None), TopicIds(lambda topics: {})
    resolved = starting_offsets(consumer, assigned, reset, control, settings, ids)
    missing = OFFSET_BEGINNING if policy == "earliest" else OFFSET_END
    assert [p.offset for p in resolved] == [*[first] * 50, missing, missing]
    assert consumer.requests == 1
    consumer.close()


class _Leaders(Consumer):
    """A leader that does not know a topic any more, which the client's metadata still have, fails the whole request."""

    gone = ""

    def offsets_for_times(self, partitions: list[TopicPartition], *args: Any, **kwargs: Any) -> Any:
        if any(p.topic == self.gone for p in partitions):
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return super().offsets_for_times(partitions, *args, **kwargs)


@pytest.mark.parametrize(("policy", "first"), [("earliest", 0), ("latest", 2), ("by_duration:PT1H", 1)])
def test_a_deleted_topic_leaves_the_others_their_offsets(broker: KafkaBroker, policy: str, first: int) -> None:
    topic, gone = (broker.create_topic(partitions=5) for _ in range(2))
    with broker.writing() as write:
        for partition in range(5):
            write(topic, "old", partition=partition, timestamp=int((time.time() - OLD) * 1000))
            write(topic, "new", partition=partition)
    consumer = _Leaders({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    consumer.gone = gone
    kept = [(topic, partition) for partition in range(5)]
    assigned = [RecordPartition(*tp) for tp in (kept[0], (gone, 0), *kept[1:])]
    found = Reset.of(offset_reset("", policy)).first_offsets(consumer, assigned)
    consumer.close()
    assert [found[RecordPartition(*tp)] for tp in kept] == [first] * 5
    assert found[RecordPartition(gone, 0)] == (OFFSET_BEGINNING if policy == "earliest" else OFFSET_END)


def test_a_duration_without_records_is_the_end(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    _write(broker, topic, "old", age=OLD)
    task = RunningTask(_sink(broker, tmp_path / "out", topic, "by_duration:PT1H"))
    wait_until(lambda: any("Assigned" in line for line in task.host.lines))
    _write(broker, topic, "later", age=OLD)
    _reads(tmp_path / "out", "later")
    task.stop()


def test_an_offset_out_of_range_is_replaced_by_that_of_the_duration(
    broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    _write(broker, topic, "deleted", "old", age=OLD)
    _write(broker, topic, "new")
    spec = _sink(broker, tmp_path / "out", topic, "by_duration:PT1H")
    _commit(spec, topic, 0)
    _delete_until(broker, topic, 1)
    task = RunningTask(spec)
    _reads(tmp_path / "out", "new")
    _write(broker, topic, "next")
    _reads(tmp_path / "out", "new", "next")
    task.stop()


def test_an_offset_out_of_range_without_a_policy_is_named(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    _write(broker, topic, "deleted", "deleted", "kept")
    spec = _sink(broker, tmp_path / "out", topic, "none")
    _commit(spec, topic, 1)
    _delete_until(broker, topic, 2)
    task = RunningTask(spec)
    task.join()
    assert f"offset 1 of partition {topic}-0 is out of range, and auto.offset.reset is none" in task.host.trace


def test_a_topic_that_was_created_again_is_read_from_its_start(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more records than the deleted one had, so that the position is within its range."""
    monkeypatch.setattr("runtime.pipeline.sink.subscription._IDS_INTERVAL", 0.5)
    topic, out, started = broker.create_topic(), tmp_path / "out", time.monotonic()
    _write(broker, topic, "1", "2")
    task = RunningTask(_sink(broker, out, topic, "earliest"))
    _reads(out, "1", "2")
    wait_until(lambda: time.monotonic() > started + 1.5, what="the first check of the topic's id")
    before = _id(broker, topic)
    broker.delete_topics(topic)
    wait_until(lambda: _is_created_again(broker, topic, before))
    _write(broker, topic, "3", "4", "5")
    wait_until(lambda: {"3", "4", "5"} <= set(out.read_text().split()))
    task.stop()


def test_a_task_that_stops_does_not_commit_for_a_topic_that_was_created_again(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    """Kafka removes the committed offsets of a deleted topic; a position in it, committed later, would skip records."""
    topic, out = broker.create_topic(), tmp_path / "out"
    _write(broker, topic, "1", "2")
    spec = replace(_sink(broker, out, topic, "earliest"), flush_interval=3600.0)
    task = RunningTask(spec)
    _reads(out, "1", "2")
    before = _id(broker, topic)
    broker.delete_topics(topic)
    wait_until(lambda: _is_created_again(broker, topic, before))
    task.stop()
    _write(broker, topic, "3", "4", "5")
    again = RunningTask(replace(spec, epoch=2))
    wait_until(lambda: {"3", "4", "5"} <= set(out.read_text().split()))
    again.stop()


def test_a_position_of_a_deleted_topic_that_a_killed_task_has_committed_is_not_used(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed before its next check of the topic's id."""
    topic, out = broker.create_topic(), tmp_path / "out"
    _write(broker, topic, "1", "2")
    spec = _sink(broker, out, topic, "earliest")
    with monkeypatch.context() as killed:
        killed.setattr("runtime.pipeline.sink.subscription._IDS_INTERVAL", 3600)
        killed.setattr("runtime.pipeline.sink.assignment._IDS_INTERVAL", 3600)
        task = RunningTask(spec)
        wait_until(lambda: _committed(spec, topic) == 2)
        before = _id(broker, topic)
        broker.delete_topics(topic)
        wait_until(lambda: _is_created_again(broker, topic, before))
        _write(broker, topic, "3", "4", "5")
        wait_until(lambda: _committed(spec, topic) == 3)
        killed.setattr(slot_topic_ids, "ids", lambda settings, topics: None)
        task.stop()
    assert out.read_text().split() == ["1", "2", "5"]
    again = RunningTask(replace(spec, epoch=2))
    wait_until(lambda: {"3", "4", "5"} <= set(out.read_text().split()))
    again.stop()
    assert _committed(spec, topic) == 3
    _reads(out, "1", "2", "5", "3", "4", "5")
    RunningTask(replace(spec, epoch=3)).stop()
    _reads(out, "1", "2", "5", "3", "4", "5")


def _committed(spec: TaskSpec, topic: str) -> int:
    with open_clients.consumer(spec.consumer) as consumer, suppress(KafkaException):  # the coordinator may still load
        return int(consumer.committed([TopicPartition(topic, 0)], allowed(20))[0].offset)
    return -1


def _is_created_again(broker: KafkaBroker, topic: str, before: str | None) -> bool:
    """The brokers delete a topic a moment after they have confirmed it; the consumer may be the first to create it."""
    with suppress(KafkaException):
        broker.create_topic(topic)
    return _id(broker, topic) not in (None, before)


def _id(broker: KafkaBroker, topic: str) -> str | None:
    return (slot_topic_ids.ids({"bootstrap.servers": broker.bootstrap}, [topic]) or {}).get(topic)
