"""Metadata of committed offsets: what a sink task stores beside them, and when it learns of the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as KafkaPartition

from runtime.api import OffsetAndMetadata, SinkRecord, SinkTask, TopicPartition
from runtime.pipeline.sink.assignment import PartitionAssignment
from runtime.pipeline.sink.sink_context import SinkContext
from runtime.pipeline.task.control import TaskControl
from tests.support.tasks.pipeline import task_spec
from tests.support.tasks.slot_host import RecordingHost

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class MarkingSink(SinkTask):
    """Commits with a mark; only partition 0 has moved unless `both`."""

    def __init__(self) -> None:
        self.confirmed: list[Mapping[TopicPartition, int]] = []
        self.allowed: dict[TopicPartition, int] = {}

    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, records: Sequence[SinkRecord]) -> None: ...

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return self.allowed

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.confirmed.append(offsets)


class MarkedGroup:
    """A group whose committed offsets have metadata; commits are answered by the test."""

    def __init__(self) -> None:
        self.commits: list[list[Any]] = []

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        self.commits.append(offsets)
        return offsets

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        return [KafkaPartition(p.topic, p.partition, 100, "first" if p.partition else "") for p in partitions]

    def assign(self, partitions: list[Any]) -> None: ...

    def incremental_assign(self, partitions: list[Any]) -> None: ...

    def resume(self, partitions: list[Any]) -> None: ...

    def memberid(self) -> str:
        return "m"


def opened() -> tuple[MarkingSink, Any, SinkContext, PartitionAssignment]:
    task, group = MarkingSink(), MarkedGroup()
    consumer: Any = group
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    assignment = PartitionAssignment(spec, task, RecordingHost(), TaskControl(False, lambda: None), consumer, context)
    assignment.callbacks["on_assign"](consumer, [KafkaPartition("t", 0), KafkaPartition("t", 1)])
    assignment.advance({ZERO: 110, ONE: 110}, assignment.moment, {})
    return task, group, context, assignment


def marks(commit: list[Any]) -> dict[int, tuple[int, str]]:
    return {p.partition: (p.offset, p.metadata or "") for p in commit}


def test_the_task_reads_the_metadata_of_the_group() -> None:
    _, _, context, _ = opened()
    found = context.committed[ONE]
    assert isinstance(found, OffsetAndMetadata)
    assert (found, found.metadata) == (100, "first")
    assert context.committed[ZERO] == 100


def test_a_commit_has_the_metadata_of_its_offsets_and_keeps_that_of_others() -> None:
    task, group, context, assignment = opened()
    task.allowed = {ZERO: OffsetAndMetadata(110, "second")}
    assignment.commit()
    assert marks(group.commits[0]) == {0: (110, "second"), 1: (100, "first")}
    assert task.confirmed == []
    assignment.on_commit(None, group.commits[0])
    assert marks(group.commits[0]) == {tp.partition: (n, n.metadata) for tp, n in _marked(task.confirmed[0])}
    assert dict(_marked(context.committed))[ZERO].metadata == "second"


def test_a_refused_offset_is_not_confirmed() -> None:
    task, group, context, assignment = opened()
    task.allowed = {ZERO: OffsetAndMetadata(110, "second")}
    assignment.commit()
    assignment.on_commit(KafkaError(KafkaError.ILLEGAL_GENERATION), group.commits[0])
    assert task.confirmed == []
    assert context.committed[ZERO] == 100


def test_the_commit_of_a_revoked_partition_is_confirmed_late() -> None:
    task, group, context, assignment = opened()
    task.allowed = {ZERO: OffsetAndMetadata(110, "second"), ONE: OffsetAndMetadata(110, "second")}
    assignment.commit()
    task.allowed = {}
    assignment.callbacks["on_revoke"](group, [KafkaPartition("t", 1)])
    assignment.on_commit(None, group.commits[0])
    assert dict(_marked(task.confirmed[0]))[ONE].metadata == "second"
    assert ONE not in context.committed


def _marked(offsets: Mapping[TopicPartition, int]) -> list[tuple[TopicPartition, OffsetAndMetadata]]:
    return [(tp, offset) for tp, offset in offsets.items() if isinstance(offset, OffsetAndMetadata)]
