"""Errant records that other threads of a task report, during put() and after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from runtime.pipeline.produce.producers import SlotProducer
from runtime.pipeline.sink.dead_letters import DeadLetters
from runtime.pipeline.sink.errant import ErrantRecords
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.log import task_log
from runtime.pipeline.tolerance import Policy, Tolerance
from tests.support.broker import KafkaBroker
from tests.support.kafka.mock_kafka import MockKafka
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import task_spec
from tests.support.tasks.python_messages import Message
from tests.support.tasks.slot_host import RecordingHost
from tests.support.waiting import wait_until


class Record:
    """The part of a SinkRecord that is reported."""

    def __init__(self, offset: int) -> None:
        self.source = Message(offset, b"v" * 100)


def reporter(
    kafka: KafkaBroker, topic: str, control: TaskControl, tolerate: bool = True, log: bool = False
) -> tuple[ErrantRecords, DeadLetters]:
    config = {"errors.deadletterqueue.topic.name": topic}
    spec = task_spec("sink", "x:Y", config, flush_timeout=0.1)
    letters = DeadLetters(spec, SlotProducer({"bootstrap.servers": kafka.bootstrap}), control)
    tolerance = Tolerance(Policy(tolerate_all=tolerate, log=log), str(spec.id), control, letters)
    letters.counts = tolerance.counts
    return ErrantRecords(tolerance), letters


def in_threads(number: int, work: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(number)]
    for thread in threads:
        thread.start()
    return threads


@pytest.fixture
def control() -> TaskControl:
    return TaskControl(False, lambda: None)


def test_reports_of_several_threads_are_written_and_counted(control: TaskControl) -> None:
    kafka = MockKafka()
    topic = kafka.create_topic()
    errant, letters = reporter(kafka, topic, control)

    def report(thread: int) -> None:
        pending = [errant.report(Record(thread * 500 + n), ValueError("bad")) for n in range(500)]  # type: ignore[arg-type]  # the part of a record that is used
        for one in pending:
            one.result(30)

    for thread in in_threads(4, report):
        thread.join(60)
    assert letters.settle(10)
    assert count(kafka.bootstrap, topic) == 2000
    counts = control.errors
    assert counts is not None
    assert (counts.failures, counts.errors, counts.skipped, counts.dead_letters) == (2000, 2000, 2000, 2000)


def test_threads_wait_while_kafka_accepts_no_reports_until_the_task_is_stopped(control: TaskControl) -> None:
    kafka = MockKafka()
    topic = kafka.create_topic()
    kafka.lose_leader(topic)
    errant, letters = reporter(kafka, topic, control)
    sent = [0] * 3
    errors: list[Exception] = []

    def report(thread: int) -> None:
        try:
            while True:
                errant.report(Record(0), ValueError("bad"))  # type: ignore[arg-type]  # as above
                sent[thread] += 1
        except Exception as error:
            errors.append(error)

    threads = in_threads(3, report)
    seen = [-1]

    def still() -> bool:
        seen.append(sum(sent))
        return seen[-2] == seen[-1] > 1000

    wait_until(still, every=0.3)
    assert sum(sent) < 100_000
    assert not letters.settle(0.1), "nothing is committed meanwhile, and the task's thread is not blocked"
    control.stop()
    for thread in threads:
        thread.join(30)
    assert {(type(e), str(e)) for e in errors} == {
        (ConnectError, "The record was not reported, since the task is being stopped")
    }


def test_a_report_without_tolerance_fails_the_task_although_another_thread_gets_the_error(control: TaskControl) -> None:
    kafka = MockKafka()
    errant, _ = reporter(kafka, kafka.create_topic(), control, tolerate=False)
    raised: list[Any] = []

    def report(_: int) -> None:
        with pytest.raises(ConnectError, match="Tolerance exceeded") as caught:
            errant.report(Record(0), ValueError("bad"))  # type: ignore[arg-type]  # as above
        raised.append(caught.value)

    errant.check()
    for thread in in_threads(1, report):
        thread.join(30)
    assert raised
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        errant.check()


def test_lines_of_other_threads_carry_the_name_of_the_task(control: TaskControl) -> None:
    kafka, host = MockKafka(), RecordingHost()
    with task_log(task_spec("sink", "x:Y", {}, connector="named"), host):
        errant, _ = reporter(kafka, kafka.create_topic(), control, log=True)
    for thread in in_threads(1, lambda _: errant.report(Record(0), ValueError("bad")) and None):  # type: ignore[arg-type]  # as above
        thread.join(30)
    assert any("[named|task-0] Error encountered in task" in line for line in host.lines)
