"""Sink tasks whose puts run on a second thread: the next batch is fetched meanwhile, and nothing else happens to it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import PendingReport, SinkTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.sink.errant import ErrantRecords
from runtime.pipeline.sink.put_ahead import FetchedBatch, PutAhead, PutThread
from runtime.pipeline.task.control import StoppedError
from tests.support.broker import KafkaBroker
from tests.support.tasks.pipeline import file_sink, group_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.sink.test_put_ahead"
JSON = ConverterSpec("JsonConverter", {"schemas.enable": "false"})
BATCH = 5
TEN = [str(n).encode() for n in range(2 * BATCH)]
_log = logging.getLogger(__name__)


class RemoteSink(SinkTask):
    """The first put waits until the second batch has been prepared."""

    puts_on_thread = True
    stopped_in_put: ClassVar[bool] = False
    puts: ClassVar[list[int]] = []
    first: ClassVar[Callable[[SinkTask], None] | None] = None
    """What the first put does, instead of taking its records."""
    second_prepared = threading.Event()
    release = threading.Event()
    prepared: ClassVar[int] = 0

    def start(self, config: object) -> None:
        self._in_put = False

    def put(self, records: Sequence[SinkRecord]) -> None:
        cls = type(self)
        self._in_put = True
        _log.warning("writing %d records", len(records))
        cls.second_prepared.wait(30)
        cls.release.wait(30)
        self._in_put = False
        if (act := cls.first) is not None:
            cls.first = None
            act(self)
        cls.puts += [record.original_kafka_offset for record in records]

    def stop(self) -> None:
        type(self).stopped_in_put |= self._in_put


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].RemoteSink
    found.puts, found.first, found.prepared = [], None, 0
    found.second_prepared.clear()
    found.release.set()
    prepare = PutThread.prepare_put

    def prepared(thread: PutThread, records: Sequence[SinkRecord]) -> Sequence[SinkRecord]:
        found.prepared += 1
        if found.prepared > 1:
            found.second_prepared.set()
        return prepare(thread, records)

    monkeypatch.setattr(PutThread, "prepare_put", prepared)
    yield found
    found.second_prepared.set()
    found.release.set()


def _spec(broker: KafkaBroker, values: Sequence[bytes] = TEN, **changes: Any) -> tuple[TaskSpec, str]:
    topic = broker.create_topic()
    broker.produce(topic, *values)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:RemoteSink", **changes)
    return replace(spec, max_poll_records=BATCH), topic


def test_the_next_batch_waits_for_a_put_that_is_repeated(broker: KafkaBroker, sink: Any) -> None:
    def refuse(task: SinkTask) -> None:
        raise RetriableError("not yet")

    sink.first = refuse
    spec, topic = _spec(broker)
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    task.stop()
    assert sink.puts == list(range(10))


def test_a_seek_in_a_put_comes_before_the_next_batch(broker: KafkaBroker, sink: Any) -> None:
    def seek(task: SinkTask) -> None:
        task.context.seek(dict.fromkeys(task.context.assignment, 2))

    sink.first = seek
    spec, topic = _spec(broker)
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    task.stop()
    assert sink.puts == [*range(5), *range(2, 10)]


def test_a_pause_in_a_put_comes_before_the_next_batch(broker: KafkaBroker, sink: Any) -> None:
    contexts: list[Any] = []

    def pause(task: SinkTask) -> None:
        contexts.append(task.context)
        task.context.pause(*task.context.assignment)

    sink.first = pause
    spec, topic = _spec(broker, flush_interval=0.1)
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 5})
    assert sink.puts == list(range(5))
    contexts[0].resume(TopicPartition(topic, 0))
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    task.stop()
    assert sink.puts == list(range(10))


def test_an_error_of_put_comes_before_those_of_the_next_batch(broker: KafkaBroker, sink: Any) -> None:
    """A failed record of a batch behind the error is read again after a restart, so it must not be reported twice."""

    def fail(task: SinkTask) -> None:
        raise ValueError("the disk is full")

    sink.first = fail
    config = {"errors.tolerance": "all", "errors.log.enable": "true"}
    spec, topic = _spec(broker, [b"1"] * 7 + [b"{broken"] + [b"1"] * 2, value_converter=JSON, config=config)
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED] and "the disk is full" in task.host.trace
    assert not [line for line in task.host.lines if "Error encountered" in line]
    assert sink.prepared == 2 and sink.puts == [] and group_offsets(broker, spec) == {}
    again = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    again.stop()
    assert sink.puts == [n for n in range(10) if n != 7]
    assert len([line for line in again.host.lines if "Error encountered" in line]) == 1


class Leaving(RemoteSink):
    def put(self, records: Sequence[SinkRecord]) -> None:
        raise SystemExit


def test_a_put_that_ends_its_thread_has_not_put_its_batch() -> None:
    done: list[FetchedBatch] = []
    puts = PutAhead(Leaving(), lambda call: call(), done.append)
    batch = FetchedBatch([], {}, 0)
    puts.prepare(batch)
    puts.begin(batch)
    for _ in range(2):
        puts.collect()
    failed = puts.take_failed()
    puts.close()
    assert not done and failed is not None and failed[0] is batch and isinstance(failed[1], SystemExit)


def test_a_stop_during_a_report_on_the_second_thread_is_not_a_failure(
    broker: KafkaBroker, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if Kafka had not accepted the dead letter until the flush timeout of the stop had passed."""

    def stopped(errant: ErrantRecords, record: SinkRecord, error: Exception) -> PendingReport:
        raise StoppedError

    def report(task: SinkTask) -> None:
        assert task.context.errant_record_reporter is not None
        task.context.errant_record_reporter.report(cast("SinkRecord", None), ValueError("bad"))

    monkeypatch.setattr(ErrantRecords, "_report", stopped)
    sink.first = report
    spec, _ = _spec(broker, config={"errors.tolerance": "all", "errors.log.enable": "true"})
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING]
    assert sink.puts == [] and group_offsets(broker, spec) == {}


def test_a_stop_waits_for_the_put_and_leaves_the_next_batch(broker: KafkaBroker, sink: Any) -> None:
    sink.release.clear()
    spec, topic = _spec(broker)
    task = RunningTask(spec)
    assert sink.second_prepared.wait(30)
    assert group_offsets(broker, spec) == {}

    def stack() -> str:
        call = task.runner.call
        return call.stack() if call is not None and call.stack is not None else ""

    wait_until(lambda: "release.wait" in stack(), 10, "the stack of put()")
    assert [line for line in task.host.lines if f"[{spec.connector}|task-0]" in line and "writing 5 records" in line]
    task.runner.stop()
    sink.release.set()
    task.join()
    assert sink.puts == list(range(5)) and group_offsets(broker, spec) == {(topic, 0): 5}


def test_a_task_that_is_revoked_is_not_stopped_during_its_put(broker: KafkaBroker, sink: Any) -> None:
    sink.release.clear()
    spec, _ = _spec(broker)
    task = RunningTask(spec)
    assert sink.second_prepared.wait(30)
    task.runner.revoke()
    time.sleep(0.3)
    assert task.alive
    sink.release.set()
    task.join()
    assert not sink.stopped_in_put
