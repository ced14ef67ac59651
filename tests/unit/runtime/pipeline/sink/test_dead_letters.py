"""Refused, lost and delayed dead letters: no offset is committed before them, and their memory is bounded."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from confluent_kafka import KafkaError

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConnectError, DataError
from runtime.api.task import SinkTask
from runtime.model.states import State
from runtime.model.task_errors import TaskLostError
from runtime.pipeline.produce.producers import SlotProducer
from runtime.pipeline.sink.dead_letters import DeadLetters
from runtime.pipeline.task.control import StoppedError, TaskControl
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.failure import Failure, Stage
from tests.support.broker import KafkaBroker
from tests.support.kafka.mock_kafka import PRODUCE, MockKafka
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import file_sink, group_offsets, task_spec
from tests.support.tasks.python_messages import Message
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.sink.test_dead_letters"


@pytest.fixture
def kafka() -> MockKafka:
    return MockKafka()


def letters(kafka: KafkaBroker, topic: str, control: TaskControl | None = None) -> DeadLetters:
    config = {"errors.deadletterqueue.topic.name": topic, "errors.tolerance": "all"}
    producer = SlotProducer({"bootstrap.servers": kafka.bootstrap})
    made = DeadLetters(task_spec("sink", "x:Y", config, flush_timeout=0.1), producer, control or running())
    made.counts = Counts()
    return made


def running() -> TaskControl:
    return TaskControl(False, lambda: None)


def failure(offset: int = 0) -> Failure:
    return Failure(Stage.TASK_PUT, "x", DataError("bad"), Message(offset, b"v" * 100), "")


def test_dead_letters_are_acknowledged(kafka: MockKafka) -> None:
    topic = kafka.create_topic()
    made = letters(kafka, topic)
    sent = [made.report(failure(n)) for n in range(1000)]
    sent[500].result(30)
    assert sent[0].done() and made.settle(10) and sent[999].done()
    assert count(kafka.bootstrap, topic) == 1000


def test_a_refused_dead_letter_fails_the_task(kafka: MockKafka) -> None:
    made = letters(kafka, kafka.create_topic("letters"))
    kafka.refuse(PRODUCE, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    letter = made.report(failure())
    with pytest.raises(ConnectError, match="Could not produce message to dead letter queue") as refused:
        made.settle(10)
    cause = str(refused.value.__cause__)
    assert "TOPIC_AUTHORIZATION_FAILED" in cause and "grant WRITE on topic letters" in cause
    for ask in (lambda: letter.result(1), made.check, lambda: made.settle(1)):
        with pytest.raises(ConnectError):
            ask()
    assert made.counts is not None and made.counts.dead_letter_failures == 1


def test_a_dead_letter_lost_by_its_producer_restarts_the_task(kafka: MockKafka) -> None:
    made = letters(kafka, kafka.create_topic())
    made.report(failure())
    made.settle(10)
    kafka.refuse(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    made.report(failure())
    with pytest.raises(TaskLostError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        made.settle(10)
    made.report(failure())
    with pytest.raises(TaskLostError):
        made.settle(10)
    assert made.counts is not None and made.counts.dead_letter_failures == 0


def test_acknowledged_dead_letters_are_freed_before_the_next_commit(kafka: MockKafka) -> None:
    made = letters(kafka, kafka.create_topic())
    made.report(failure())
    made.settle(10)
    one, letters_sent = failure(), 20_000
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(letters_sent):
        made.report(one)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held / letters_sent < 50
    assert made.settle(10)


def test_dead_letters_to_a_topic_without_a_leader_are_bounded_until_the_task_is_stopped(kafka: MockKafka) -> None:
    topic, control, ended = kafka.create_topic(), running(), threading.Event()
    kafka.lose_leader(topic)
    made = letters(kafka, topic, control)
    sent = 0

    def send() -> None:
        nonlocal sent
        with pytest.raises(StoppedError):
            while True:
                made.report(failure())
                sent += 1
        ended.set()

    threading.Thread(target=send, daemon=True).start()
    seen = [-1]

    def still() -> bool:
        seen.append(sent)
        return seen[-2] == seen[-1] > 1000

    wait_until(still, every=0.2)
    assert sent < 100_000
    assert not made.settle(0.1), "nothing is committed meanwhile"
    control.stop()
    assert ended.wait(30)


class Swallowing(SinkTask):
    """A sink that reports every record and ignores errors."""

    raised: ClassVar[list[Exception]] = []

    def start(self, config: Mapping[str, str]) -> None:
        type(self).raised.clear()

    def put(self, records: Sequence[SinkRecord]) -> None:
        reporter = self.context.errant_record_reporter
        assert reporter is not None
        for record in records:
            try:
                reporter.report(record, DataError("cannot take it"))
            except Exception as error:
                self.raised.append(error)


def test_a_task_that_catches_the_tolerance_error_still_fails(broker: KafkaBroker, topic: str) -> None:
    broker.produce(topic, b"one", b"two")
    config = {"errors.tolerance": "none", "errors.log.enable": "true"}
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Swallowing", config=config)
    task = RunningTask(spec)
    task.join()
    assert sys.modules[HERE].Swallowing.raised
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert task.host.trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
        "Caused by: org.apache.kafka.connect.errors.DataException: cannot take it\n"
    )
    assert group_offsets(broker, spec).get((topic, 0), 0) == 0


def test_no_offset_is_committed_after_a_dead_letter_that_kafka_refuses(broker: KafkaBroker) -> None:
    topic, letters = broker.create_topic(), broker.create_topic(max_message_bytes="1000")
    broker.produce(topic, b"x" * 2000)
    config = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters}
    client = {"bootstrap.servers": broker.bootstrap}
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Swallowing", config=config, producer=client)
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert f"Could not produce message to dead letter queue. topic={letters}" in task.host.trace
    assert "MSG_SIZE_TOO_LARGE" in task.host.trace
    assert group_offsets(broker, spec).get((topic, 0), 0) == 0
    assert task.runner.errors is not None and task.runner.errors.dead_letter_failures == 1
