"""commit() and commit_record() on a real broker, with and without transactions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from runtime.api import RecordMetadata, SourceBatch, SourceRecord, SourceTask, ValueBatch
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.task.async_adapter import implements
from tests.support.broker import KafkaBroker
from tests.support.kafka.committed import committed
from tests.support.tasks.pipeline import exactly_once, source_task
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.source.test_commit_record"
FILTER = {
    "transforms": "f",
    "transforms.f.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.f.predicate": "null",
    "predicates": "null",
    "predicates.null.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}


class Tracked(SourceTask):
    """Polls `values` once, and notes the calls that follow."""

    values: Sequence[Any] = ()
    as_batch = False
    abort_after: int | None = None
    calls: list[tuple[Any, ...]] = []  # noqa: RUF012 - the fixture replaces it
    fails_to_start = fails = False

    def start(self, config: object) -> None:
        if self.fails_to_start:
            raise RuntimeError("as configured")
        self._polled = False

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._polled:
            return None
        self._polled = True
        topic = self.context.configs["topic"]
        if self.as_batch:
            return SourceBatch({"p": 1}, lambda n: {"n": n}, topic, ValueBatch(None, list(self.values)))
        records = [SourceRecord({"p": 1}, {"n": n}, topic, value) for n, value in enumerate(self.values)]
        transactions = self.context.transactions
        if transactions is not None and self.abort_after is not None:
            transactions.abort(records[self.abort_after])
            transactions.commit()
        return records

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        assert record.source_offset is not None
        self.calls.append(("record", record.source_offset["n"], record.value, metadata))
        if self.fails:
            raise RuntimeError("as configured")

    def commit(self) -> None:
        self.calls.append(("commit",))


@pytest.fixture
def tracked() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Tracked
    found.values, found.as_batch, found.abort_after, found.calls = (), False, None, []
    found.fails_to_start = found.fails = False
    return found


def _spec(broker: KafkaBroker, topic: str, delivery: str, **config: str) -> TaskSpec:
    value, config = ConverterSpec("ByteArrayConverter"), {"topic": topic, **config}
    spec = source_task(broker, f"{HERE}:Tracked", config, value_converter=value, flush_interval=0.1)
    if delivery == "at least once":
        return spec
    return exactly_once(spec, transaction_boundary="connector" if delivery == "connector" else "poll")


def _records(tracked: Any) -> list[tuple[Any, ...]]:
    return [call[1:] for call in tracked.calls if call[0] == "record"]


@pytest.mark.parametrize("as_batch", [False, True])
@pytest.mark.parametrize("delivery", ["at least once", "exactly once"])
def test_each_record_is_committed_with_its_place_in_kafka(
    broker: KafkaBroker, tracked: Any, delivery: str, as_batch: bool
) -> None:
    topic = broker.create_topic(partitions=2)
    tracked.values, tracked.as_batch = [b"%d" % n for n in range(50)], as_batch
    task = RunningTask(replace(_spec(broker, topic, delivery), flush_interval=3600.0))
    wait_until(lambda: len(_records(tracked)) == 50)
    task.stop()
    stored = {(m.partition(), m.offset()): (m.value(), m.timestamp()[1]) for m in committed(broker, topic)}
    assert {(m.partition, m.offset): (value, m.timestamp) for _, value, m in _records(tracked)} == stored
    assert sorted(n for n, _, _ in _records(tracked)) == list(range(50))
    assert tracked.calls.index(("commit",)) >= 50, "records are committed before their offsets"


def test_records_whose_producer_awaits_no_acknowledgement_have_no_offset(
    broker: KafkaBroker, topic: str, tracked: Any
) -> None:
    tracked.values = [b"a"]
    spec = _spec(broker, topic, "at least once")
    task = RunningTask(replace(spec, producer={**spec.producer, "acks": "0", "enable.idempotence": "false"}))
    wait_until(lambda: _records(tracked))
    task.stop()
    ((_, _, metadata),) = _records(tracked)
    assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 0, -1)


@pytest.mark.parametrize("delivery", ["at least once", "exactly once"])
def test_records_that_are_not_sent_have_no_place(broker: KafkaBroker, topic: str, tracked: Any, delivery: str) -> None:
    """The second record is dropped by a transformation, the third cannot be converted."""
    unconvertible = object()
    tracked.values = [b"a", None, unconvertible, b"b"]
    task = RunningTask(_spec(broker, topic, delivery, **FILTER, **{"errors.tolerance": "all"}))
    wait_until(lambda: len(_records(tracked)) == 4)
    task.stop()
    places = {
        n: metadata and (metadata.topic, metadata.partition, metadata.offset) for n, _, metadata in _records(tracked)
    }
    assert places == {0: (topic, 0, 0), 1: None, 2: None, 3: (topic, 0, 1)}
    assert {n: value for n, value, _ in _records(tracked)}[2] is unconvertible, "the record as poll() has returned it"


def test_a_poll_of_which_nothing_is_left_is_committed(broker: KafkaBroker, tracked: Any) -> None:
    tracked.values, tracked.as_batch = [None, None, None], True
    task = RunningTask(_spec(broker, broker.create_topic(), "at least once", **FILTER))
    wait_until(lambda: len(_records(tracked)) == 3)
    task.stop()
    assert {metadata for _, _, metadata in _records(tracked)} == {None}


def test_aborted_records_have_no_place(broker: KafkaBroker, topic: str, tracked: Any) -> None:
    tracked.values, tracked.abort_after = [b"a", b"b", b"c", b"d"], 1
    task = RunningTask(_spec(broker, topic, "connector"))
    wait_until(lambda: len(_records(tracked)) == 4)
    task.stop()
    assert {n: metadata is not None for n, _, metadata in _records(tracked)} == {0: False, 1: False, 2: True, 3: True}
    assert [m.value() for m in committed(broker, topic)] == [b"c", b"d"]


def test_a_record_that_kafka_refuses_and_is_skipped_has_no_place(broker: KafkaBroker, tracked: Any) -> None:
    """The broker first refuses the whole request, so that its records are sent again one by one."""
    topic = broker.create_topic(max_message_bytes="2000")
    tracked.values = [b"a", b"x" * 5000, b"b"]
    task = RunningTask(_spec(broker, topic, "at least once", **{"errors.tolerance": "all"}))
    wait_until(lambda: len(_records(tracked)) == 3)
    task.stop()
    assert {n: metadata and metadata.offset for n, _, metadata in _records(tracked)} == {0: 0, 1: None, 2: 1}


def test_errors_in_commit_record_are_logged(broker: KafkaBroker, tracked: Any) -> None:
    tracked.values, tracked.fails = [b"a", b"b"], True
    task = RunningTask(_spec(broker, broker.create_topic(), "at least once"))
    wait_until(lambda: len(_records(tracked)) == 2 and ("commit",) in tracked.calls)
    task.stop()
    assert task.host.states == [State.RUNNING]
    assert sum("commit_record() failed" in line for line in task.host.lines) == 2


@pytest.mark.parametrize("delivery", ["at least once", "exactly once"])
def test_commit_is_called_at_each_interval_and_at_the_end_without_records(
    broker: KafkaBroker, tracked: Any, delivery: str
) -> None:
    task = RunningTask(_spec(broker, broker.create_topic(), delivery))
    wait_until(lambda: len(tracked.calls) >= 3)
    task.stop()
    assert set(tracked.calls) == {("commit",)}
    tracked.calls.clear()
    slow = RunningTask(replace(_spec(broker, broker.create_topic(), delivery), flush_interval=3600.0))
    slow.wait_state(State.RUNNING)
    assert not tracked.calls
    slow.stop()
    assert tracked.calls == [("commit",)]


def test_commit_is_not_called_for_a_task_that_has_not_started(broker: KafkaBroker, tracked: Any) -> None:
    tracked.fails_to_start = True
    task = RunningTask(_spec(broker, broker.create_topic(), "at least once"))
    task.join()
    assert task.host.states == [State.FAILED] and not tracked.calls


def test_only_implemented_hooks_cost_something() -> None:
    assert implements(Tracked(), "commit_record") and implements(Tracked(), "commit")
    assert not implements(FileStreamSourceTask(), "commit_record")
    assert not implements(FileStreamSourceTask(), "commit")
