"""Commits, pauses and starting offsets of a sink task across rebalances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import SinkTask
from runtime.pipeline.sink.assignment import PartitionAssignment
from runtime.pipeline.sink.sink_context import SinkContext
from runtime.pipeline.task.control import StoppedError, TaskControl
from runtime.pipeline.task.failure import RevokedError
from runtime.pipeline.topic_ids import slot_topic_ids
from tests.support.tasks.pipeline import task_spec
from tests.support.tasks.slot_host import RecordingHost


@pytest.fixture(autouse=True)
def no_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster has the ids of topics."""
    monkeypatch.setattr("runtime.pipeline.topic_ids._SHORT_TIMEOUT", 0.01)


class IdleSink(SinkTask):
    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, records: Sequence[SinkRecord]) -> None: ...


class SlowGroup:
    """Answers commits when the test calls on_commit(), which is not possible with a broker."""

    def __init__(self) -> None:
        self.assigned: list[list[int]] = []
        self.commits: list[dict[int, int]] = []
        self.paused: set[int] = set()

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        self.commits.append({p.partition: p.offset for p in offsets})
        return offsets

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        return [KafkaPartition(p.topic, p.partition, 100) for p in partitions]

    def poll(self, timeout: float) -> None: ...

    def incremental_assign(self, partitions: list[Any]) -> None:
        self.assigned.append([p.partition for p in partitions])

    def pause(self, partitions: list[Any]) -> None:
        self.paused.update(p.partition for p in partitions)

    def resume(self, partitions: list[Any]) -> None:
        self.paused.difference_update(p.partition for p in partitions)

    def memberid(self) -> str:
        return "m"


class InstantTaskControl(TaskControl):
    """Counts waits instead of sleeping."""

    waits = 0

    def wait(self, seconds: float) -> None:
        self.waits += 1


class SilentCoordinator(SlowGroup):
    """A coordinator that does not answer at first."""

    silent = 20

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        self.silent -= 1
        if self.silent >= 0:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return super().committed(partitions, timeout)


def assigned(control: TaskControl, consumer: Any) -> tuple[Any, SinkContext, Any, PartitionAssignment]:
    task = IdleSink()
    task.start({})
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    assignment = PartitionAssignment(spec, task, RecordingHost(), control, consumer, context)
    return consumer, context, assignment.callbacks["on_assign"], assignment


def test_no_offset_is_committed_for_a_topic_that_was_created_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not by a commit soon after the first one that has noticed it."""
    ids = {"t": "1"}
    monkeypatch.setattr(slot_topic_ids, "ids", lambda settings, topics: dict(ids))
    monkeypatch.setattr(slot_topic_ids, "asker", lambda settings, patient: lambda topics: dict(ids))
    consumer, _, on_assign, assignment = assigned(TaskControl(False, lambda: None), SlowGroup())
    on_assign(consumer, [KafkaPartition("t", 0)])
    ids["t"] = "2"
    for offset in (110, 120):
        assignment.advance({TopicPartition("t", 0): offset}, assignment.moment, {})
        assignment.commit()
    assert consumer.commits == []


def test_a_commit_answered_after_the_partition_was_revoked_is_not_repeated() -> None:
    consumer: Any = SlowGroup()
    task = IdleSink()
    task.start({})
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    assignment = PartitionAssignment(spec, task, RecordingHost(), TaskControl(False, lambda: None), consumer, context)
    zero, one = KafkaPartition("t", 0), KafkaPartition("t", 1)
    assignment.callbacks["on_assign"](consumer, [zero, one])
    assignment.advance({TopicPartition("t", 0): 110, TopicPartition("t", 1): 510}, assignment.moment, {})
    assignment.commit()
    assignment.callbacks["on_revoke"](consumer, [one])
    assignment.on_commit(None, [KafkaPartition("t", n, offset) for n, offset in consumer.commits[0].items()])
    assignment.advance({TopicPartition("t", 0): 120}, assignment.moment, {})
    assignment.commit()
    assert consumer.commits == [{0: 110, 1: 510}, {1: 510}, {0: 120}]


class CallsSink(IdleSink):
    """Records its calls in the list that it shares with the consumer."""

    def __init__(self, calls: list[Any], refuses: bool = False) -> None:
        self._calls, self._refuses = calls, refuses

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._calls.append(("open", [tp.partition for tp in partitions]))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._calls.append(("preCommit", {tp.partition: offset for tp, offset in offsets.items()}))
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._calls.append(("close", [tp.partition for tp in partitions]))
        if self._refuses:
            raise OSError("the file system is full")


class CallsGroup(SlowGroup):
    """Records commits among the calls of the task."""

    def __init__(self, calls: list[Any]) -> None:
        super().__init__()
        self._calls = calls

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        self._calls.append(("commit", {p.partition: p.offset for p in offsets}))
        return super().commit(offsets, asynchronous)


def three_partitions(calls: list[Any], refuses: bool = False) -> tuple[Any, SinkContext, PartitionAssignment]:
    """A task with three partitions, each at 100 and read up to 110."""
    task, consumer = CallsSink(calls, refuses), CallsGroup(calls)
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    control = TaskControl(False, lambda: None)
    assignment = PartitionAssignment(spec, task, RecordingHost(), control, consumer, context)  # type: ignore[arg-type]  # a consumer without a broker
    assignment.callbacks["on_assign"](consumer, kafka(0, 1, 2))
    assignment.advance({TopicPartition("t", n): 110 for n in range(3)}, assignment.moment, {})
    calls.clear()
    return consumer, context, assignment


def test_a_put_on_a_second_thread_returns_before_the_task_is_called() -> None:
    """Partitions, and answers to commits, arrive while it is under way."""
    calls: list[Any] = []
    consumer, context, assignment = three_partitions(calls)
    context.collect_put = lambda: calls.append("put has returned")
    assignment.callbacks["on_assign"](consumer, kafka(3))
    assignment.on_commit(None, kafka(0))  # calls committed()
    assert calls == ["put has returned", ("open", [3]), "put has returned"]


def kafka(*partitions: int) -> list[KafkaPartition]:
    return [KafkaPartition("t", n) for n in partitions]


def test_a_cooperative_rebalance_flushes_and_closes_only_what_is_revoked() -> None:
    calls: list[Any] = []
    consumer, context, assignment = three_partitions(calls)
    assignment.callbacks["on_revoke"](consumer, kafka(1))
    assert calls == [("preCommit", {1: 110}), ("close", [1]), ("commit", {1: 110})]
    calls.clear()
    assignment.callbacks["on_assign"](consumer, kafka(3))
    assert calls == [("open", [3])]
    assert {tp.partition for tp in context.assignment} == {0, 2, 3}
    calls.clear()
    assignment.callbacks["on_revoke"](consumer, [])
    assignment.callbacks["on_assign"](consumer, [])
    assert calls == [], "a rebalance that changes nothing"
    assignment.callbacks["on_lost"](consumer, kafka(2))
    assert calls == [("close", [2])], "another member may already have committed"
    calls.clear()
    assignment.finish()
    assert calls == [("preCommit", {0: 110, 3: 100}), ("close", [0, 3]), ("commit", {0: 110, 3: 100})]
    assignment.callbacks["on_assign"](consumer, kafka(4))
    assert consumer.assigned == [[0, 1, 2], [3], [], []], "the task has ended"


def test_offsets_of_partitions_that_cannot_be_closed_are_not_committed() -> None:
    calls: list[Any] = []
    consumer, context, assignment = three_partitions(calls, refuses=True)
    with pytest.raises(OSError, match="full"):
        assignment.callbacks["on_revoke"](consumer, kafka(0))
    assert [name for name, _ in calls] == ["preCommit", "close"]
    assert {tp.partition for tp in context.assignment} == {1, 2}


def test_a_partition_revoked_while_paused_is_read_after_its_next_assignment() -> None:
    """The client forgets the pause of a revoked partition most of the time, not always."""
    consumer, _, on_assign, assignment = assigned(InstantTaskControl(False, lambda: None), SlowGroup())
    on_assign(consumer, [KafkaPartition("t", 0)])
    assignment.hold(True)
    assert consumer.paused == {0}
    assignment.callbacks["on_revoke"](consumer, [KafkaPartition("t", 0)])
    assignment.hold(False)
    on_assign(consumer, [KafkaPartition("t", 0)])
    assert consumer.paused == set()


def test_requests_to_a_silent_coordinator_are_repeated_until_the_answer() -> None:
    control = InstantTaskControl(False, lambda: None)
    consumer, context, on_assign, _ = assigned(control, SilentCoordinator())
    on_assign(consumer, [KafkaPartition("t", 0)])
    assert context.positions == {TopicPartition("t", 0): 100} and control.waits == 20


def test_requests_to_a_silent_coordinator_end_with_the_lease_or_a_stop() -> None:
    def lease_over() -> None:
        raise RevokedError("the lease has expired")

    consumer, context, on_assign, _ = assigned(InstantTaskControl(False, lease_over), SilentCoordinator())
    with pytest.raises(RevokedError):
        on_assign(consumer, [KafkaPartition("t", 0)])
    stopped = InstantTaskControl(False, lambda: None)
    stopped.stop()
    consumer, context, on_assign, _ = assigned(stopped, SilentCoordinator())
    with pytest.raises(StoppedError):
        on_assign(consumer, [KafkaPartition("t", 0)])
    assert context.positions == {}
    assert consumer.assigned == [[]], "otherwise the client would assign the partitions itself"


class Fetched:
    """A message of a partition."""

    def __init__(self, partition: int) -> None:
        self._partition = partition

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._partition


def test_messages_that_were_fetched_before_a_seek_are_not_put() -> None:
    """A task that seeks in close() has not got these messages when it reads from its new position."""
    spec = task_spec("sink", "x:Y", {})
    control = TaskControl(False, lambda: None)
    context, consumer = SinkContext({}), SlowGroup()
    assignment = PartitionAssignment(spec, IdleSink(), RecordingHost(), control, consumer, context)  # type: ignore[arg-type]  # a consumer without a broker
    messages: list[Any] = [Fetched(0), Fetched(1)]
    assert assignment.without_sought(messages) == messages
    context.seek({TopicPartition("t", 0): 100})
    assert assignment.without_sought(messages) == messages[1:]
