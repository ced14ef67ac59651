"""Source offsets: those that a task reads, and those that are written to the offsets topic."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from runtime.api.errors import ConnectError, DataError
from runtime.model.task_spec import SourceOffset, TaskSpec
from runtime.pipeline.port import OffsetsRead
from runtime.pipeline.produce.producers import Purpose, SlotProducer
from runtime.pipeline.source.source_offsets import CommittedOffsets, OffsetWriter
from runtime.pipeline.source.source_task import LiveOffsets
from runtime.pipeline.task.control import TaskControl
from tests.support.broker import KafkaBroker
from tests.support.tasks.pipeline import records, task_spec
from tests.support.waiting import wait_until


def test_offsets_wait_for_room_in_a_full_producer_queue(broker: KafkaBroker) -> None:
    topic, offsets = broker.create_topic(), broker.create_topic()
    settings = {"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 3, "linger.ms": 200}
    producer = SlotProducer(settings, Purpose.OFFSETS)
    for value in (b"a", b"b"):
        producer.produce(topic, value)
    writer = OffsetWriter(lambda: producer, offsets)
    writer.write({str(n).encode(): {"n": n} for n in range(5)})
    assert writer.busy and not writer.finished()
    wait_until(writer.finished)
    assert not writer.busy and [key for key, _ in records(broker, offsets)] == [b"0", b"1", b"2", b"3", b"4"]


AT_START = [SourceOffset({"p": 1}, {"n": 1}, '["c",{"p":1}]')]


class Worker:
    """The host of a task: answers with these offsets, by partition, an error, or nothing."""

    def __init__(self, answer: Mapping[int, int] | str | None) -> None:
        self.answer, self.asked = answer, 0

    def read_offsets(self, spec: TaskSpec, partitions: Sequence[str], answered: Callable[[OffsetsRead], None]) -> None:
        self.asked += 1
        answer = self.answer
        if isinstance(answer, str):
            answered(answer)
        elif answer is not None:
            numbers = [json.loads(partition)["p"] for partition in partitions]
            answered([{"n": answer[number]} if number in answer else None for number in numbers])


def _offsets(worker: Worker, control: TaskControl | None = None, live: bool = True) -> LiveOffsets:
    spec = replace(task_spec("source", "x:Y", {}), flush_timeout=0.1)
    made = LiveOffsets(
        spec,
        worker,
        control or TaskControl(False, lambda: None),
        CommittedOffsets("c", AT_START),
    )
    made.live = live
    return made


def test_during_start_the_offsets_are_known_without_a_request() -> None:
    worker = Worker({1: 7})
    offsets = _offsets(worker, live=False)
    assert offsets.offsets([{"p": 1}, {"p": 2}]) == [{"n": 1}, None]
    assert not worker.asked
    offsets.live = True
    assert offsets.offset({"p": 1}) == {"n": 7}


def test_offsets_of_many_partitions_are_one_request_in_their_order() -> None:
    worker = Worker({1: 7, 3: 9})
    assert _offsets(worker).offsets([{"p": 3}, {"p": 2}, {"p": 1}]) == [{"n": 9}, None, {"n": 7}]
    assert _offsets(worker).offsets([]) == []
    assert worker.asked == 1
    many = [{"p": number} for number in range(2500)]
    worker = Worker({number: number for number in range(2500)})
    assert _offsets(worker).offsets(many) == [{"n": number} for number in range(2500)]
    assert worker.asked == 3, "a request has a limited size"


def test_a_partition_that_is_not_json_is_refused_without_a_request() -> None:
    worker = Worker({})
    with pytest.raises(DataError, match="A value of class Decimal cannot be stored"):
        _offsets(worker).offset({"p": Decimal(1)})
    assert not worker.asked


def test_an_error_of_the_worker_is_raised() -> None:
    with pytest.raises(ConnectError, match="could not be read: Kafka does not answer"):
        _offsets(Worker("Kafka does not answer")).offset({"p": 1})


@pytest.mark.parametrize("request_end", [TaskControl.stop, TaskControl.revoke])
def test_a_read_ends_when_the_task_is_stopped(request_end: Callable[[TaskControl], None]) -> None:
    control = TaskControl(False, lambda: None)
    threading.Timer(0.05, request_end, (control,)).start()
    with pytest.raises(ConnectError, match="the task is being stopped"):
        _offsets(Worker(None), control).offset({"p": 1})
