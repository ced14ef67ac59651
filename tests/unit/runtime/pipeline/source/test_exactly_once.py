"""A source task with transactions on a real broker: what a consumer with isolation level read_committed sees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.api.task import SourceTask
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State
from runtime.model.task_errors import TaskLostError
from runtime.model.task_spec import ConverterSpec, TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.committed import committed, committed_offsets, values
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import append, exactly_once, file_source, filled_source
from tests.support.tasks.slot_host import RecordingHost, RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.source.test_exactly_once"


def _transactional(spec: TaskSpec, boundary: str = "poll", interval: float = 60.0) -> TaskSpec:
    return exactly_once(spec, transaction_boundary=boundary, transaction_interval=interval)


def _restarted(broker: KafkaBroker, spec: TaskSpec) -> TaskSpec:
    return replace(spec, epoch=spec.epoch + 1, offsets=committed_offsets(broker, spec))


def _has_records(broker: KafkaBroker, topic: str, expected: int) -> bool:
    return count(broker.bootstrap, topic) >= expected


def _fence(spec: TaskSpec) -> None:
    """Abort what earlier runs of the task have left open, and wait for the end of what they have committed."""
    fencing = RunningTask(replace(spec, config={**spec.config, "file": "/nowhere"}, offsets=[]))
    fencing.wait_state(State.RUNNING)
    fencing.stop()


def test_the_records_of_a_poll_and_their_offset_are_one_transaction(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\ntwo\n")
    spec = _transactional(spec)
    task = RunningTask(spec)
    wait_until(lambda: len(committed(broker, topic)) == 2)
    append(file, b"three\n")
    wait_until(lambda: len(committed(broker, topic)) == 3)
    task.stop()
    assert values(broker, topic) == [b"one", b"two", b"three"]
    assert [m.offset() for m in committed(broker, topic)] == [0, 1, 3], "a marker follows each poll"
    assert [m.value() for m in committed(broker, spec.offsets_topic)] == [b'{"position":8}', b'{"position":14}']
    assert task.host.states == [State.RUNNING]
    meter = task.runner.meter
    assert (meter.read, meter.written, meter.active, meter.transactions, meter.transaction_records) == (3, 3, 0, 2, 3)
    assert (meter.smallest_transaction, meter.largest_transaction) == (1, 2)


def test_a_file_is_delivered_once_over_restarts_with_and_without_a_graceful_end(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    expected = [f"line {number}".encode() for number in range(200_000)]
    file, topic, spec = filled_source(broker, tmp_path, b"\n".join([*expected, b""]))
    spec = _transactional(spec)
    for stop_at, graceful in ((1, True), (40_000, False), (90_000, True), (120_000, False)):
        task = RunningTask(spec)
        wait_until(partial(_has_records, broker, topic, stop_at))
        if graceful:
            task.stop()
        else:
            task.host.lease_over = True
            task.join()
        _fence(spec)
        spec = _restarted(broker, spec)
    task = RunningTask(spec)
    wait_until(lambda: [o.offset for o in committed_offsets(broker, spec)] == [{"position": file.stat().st_size}])
    task.stop()
    assert values(broker, topic) == expected


def test_an_open_transaction_is_invisible_until_the_task_is_paused(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\ntwo\n")
    spec = _transactional(spec, "interval")
    task = RunningTask(spec)
    wait_until(lambda: len(values(broker, topic, "read_uncommitted")) == 2)
    assert values(broker, topic) == []
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    assert values(broker, topic) == [b"one", b"two"]
    append(file, b"three\n")
    task.runner.pause(False)
    wait_until(lambda: len(values(broker, topic, "read_uncommitted")) == 3)
    task.stop()
    assert values(broker, topic) == [b"one", b"two", b"three"]
    assert [found.offset for found in committed_offsets(broker, spec)] == [{"position": 14}]


def test_a_transaction_is_committed_when_its_interval_is_over(broker: KafkaBroker, tmp_path: Path) -> None:
    _, topic, spec = filled_source(broker, tmp_path, b"one\n")
    task = RunningTask(_transactional(spec, "interval", 0.3))
    wait_until(lambda: values(broker, topic) == [b"one"])
    task.stop()


def test_a_successor_fences_the_task_and_its_open_transaction(broker: KafkaBroker, tmp_path: Path) -> None:
    _, topic, spec = filled_source(broker, tmp_path, b"one\ntwo\n")
    spec = _transactional(spec, "interval", 1.0)
    first = RunningTask(replace(spec, transaction_interval=3.0))
    wait_until(lambda: len(values(broker, topic, "read_uncommitted")) == 2)
    second = RunningTask(replace(spec, epoch=2))
    first.wait_state(State.UNASSIGNED)
    first.stop()
    wait_until(lambda: values(broker, topic) == [b"one", b"two"])
    second.stop()
    assert values(broker, topic) == [b"one", b"two"]


class Unstarted(SourceTask):
    """Records the calls of its methods."""

    calls: ClassVar[list[str]] = []

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")

    def poll(self) -> None:
        self.calls.append("poll")

    def stop(self) -> None:
        self.calls.append("stop")


def test_a_start_that_the_worker_refuses_has_fenced_and_does_nothing_else(broker: KafkaBroker, tmp_path: Path) -> None:
    __import__(HERE)
    calls = sys.modules[HERE].Unstarted.calls
    _, topic, spec = filled_source(broker, tmp_path, b"one\n")
    spec = _transactional(spec, "interval", 60.0)
    first = RunningTask(spec)
    wait_until(lambda: values(broker, topic, "read_uncommitted") == [b"one"])
    host = RecordingHost()
    host.refusal = TaskLostError("the connector has other task configs by now")
    RunningTask(replace(spec, epoch=2, task_class=f"{HERE}:Unstarted"), host).join()
    assert (host.states, host.trace, calls) == ([State.UNASSIGNED], str(host.refusal), [])
    first.stop()
    assert values(broker, topic) == []
    host.refusal = ConnectError("offset topic o cannot be used, then restart the task")
    RunningTask(replace(spec, epoch=3, task_class=f"{HERE}:Unstarted"), host).join()
    assert (host.states[-1], calls) == (State.FAILED, [])
    assert str(host.refusal) in host.trace


class Boundaries(SourceTask):
    """Polls the numbers from the committed offset on, five at a time; a class attribute requests ends of
    transactions."""

    until = 0
    ends: Mapping[int, str] = {}
    polled = threading.Event()

    def start(self, config: Mapping[str, str]) -> None:
        self.topic = config["topic"]
        known = self.context.offsets.offset({"p": 0})
        self.at = 0 if known is None else known["n"]

    def poll(self) -> list[SourceRecord] | None:
        first, self.at = self.at, min(self.at + 5, self.until)
        if first == self.at:
            self.polled.set()
            return None
        records = [SourceRecord({"p": 0}, {"n": n + 1}, self.topic, str(n).encode()) for n in range(first, self.at)]
        transactions = self.context.transactions
        assert transactions is not None
        for number, record in enumerate(records, first):
            if end := self.ends.get(number):
                (transactions.commit if end == "commit" else transactions.abort)(record)
        return records


@pytest.fixture
def boundaries() -> Any:
    """The task class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    found = sys.modules[HERE].Boundaries
    found.until, found.ends, found.polled = 0, {}, threading.Event()
    return found


def _numbers(broker: KafkaBroker, topic: str) -> TaskSpec:
    spec = file_source(broker, Path("none"), topic, task_class=f"{HERE}:Boundaries")
    raw = ConverterSpec("ByteArrayConverter")
    return replace(_transactional(spec, "connector"), value_converter=raw)


def test_the_task_defines_where_transactions_end(broker: KafkaBroker, topic: str, boundaries: Any) -> None:
    spec = _numbers(broker, topic)
    boundaries.until, boundaries.ends = 12, {3: "commit", 6: "abort", 9: "commit"}
    task = RunningTask(spec)
    assert boundaries.polled.wait(30)
    task.stop()
    visible = [b"0", b"1", b"2", b"3", b"7", b"8", b"9"]
    assert values(broker, topic) == visible, "4 to 6 were aborted, 10 and 11 were not committed"
    assert [found.offset for found in committed_offsets(broker, spec)] == [{"n": 10}]
    boundaries.ends, boundaries.polled = {11: "commit"}, threading.Event()
    task = RunningTask(_restarted(broker, spec))
    assert boundaries.polled.wait(30)
    task.stop()
    assert values(broker, topic) == [*visible, b"10", b"11"]


def test_the_offsets_of_aborted_records_are_committed(broker: KafkaBroker, topic: str, boundaries: Any) -> None:
    spec = _numbers(broker, topic)
    boundaries.until, boundaries.ends = 5, {4: "abort"}
    task = RunningTask(spec)
    assert boundaries.polled.wait(30)
    task.stop()
    assert values(broker, topic) == []
    assert [found.offset for found in committed_offsets(broker, spec)] == [{"n": 5}]


def test_a_record_that_fails_the_task_aborts_its_poll(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic()
    file.write_bytes(b"1\n2\nnot a number\n")
    spec = _transactional(file_source(broker, file, topic, config={
        "transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.c.spec": "int32",
    }))  # fmt: skip
    task = RunningTask(spec)
    task.wait_state(State.FAILED)
    task.join()
    assert values(broker, topic) == []
    assert committed_offsets(broker, spec) == []


def test_offsets_go_to_the_connectors_topic_and_a_copy_to_the_workers(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, copy = tmp_path / "in.txt", broker.create_topic(), broker.create_topic(unique("offsets"))
    file.write_bytes(b"one\n")
    plain = {"bootstrap.servers": broker.bootstrap}
    spec = _transactional(file_source(broker, file, topic, offsets_copy_topic=copy, offsets_producer=plain))
    task = RunningTask(spec, RecordingHost())
    wait_until(lambda: values(broker, copy) == [b'{"position":4}'])
    task.stop()
    assert [found.offset for found in committed_offsets(broker, spec)] == [{"position": 4}]


def test_a_task_may_not_write_to_its_own_offsets_topic(broker: KafkaBroker, tmp_path: Path) -> None:
    """As in Connect: a task that reads offsets in its open transaction would wait for its own records."""
    _, topic, spec = filled_source(broker, tmp_path, b"one\n")
    task = RunningTask(replace(_transactional(spec), offsets_topic=topic))
    task.wait_state(State.FAILED)
    task.join()
    reason = "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
    assert reason in (task.host.trace or "")
    assert values(broker, topic, "read_uncommitted") == []


def test_a_request_that_is_too_large_restarts_the_task_with_a_request_for_each_record(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic(max_message_bytes="2000")
    lines = [b"x" * 90 + b"%d" % n for n in range(300)]
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    spec = _transactional(file_source(broker, file, topic))
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.UNASSIGNED]
    assert values(broker, topic) == []
    again = RunningTask(_restarted(broker, spec), task.host)
    wait_until(lambda: len(values(broker, topic)) == 300 or State.FAILED in again.host.states)
    assert values(broker, topic) == lines
    append(file, b"y" * 3000 + b"\n")
    again.wait_state(State.FAILED)
    again.join()
    assert "MSG_SIZE_TOO_LARGE" in again.host.trace and f"a record for topic {topic} exceeds" in again.host.trace
    assert values(broker, topic) == lines


def test_a_transaction_that_cannot_be_committed_is_not_left_open(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic(max_message_bytes="2000")
    file.write_bytes(b"one\n" + b"y" * 3000 + b"\n")
    spec = _transactional(file_source(broker, file, topic))
    host = RecordingHost()
    host.producers.send_singly(str(spec.id))
    task = RunningTask(spec, host)
    task.wait_state(State.FAILED)
    task.join()
    broker.produce(topic, b"after")
    assert values(broker, topic) == [b"after"]


def test_a_rate_limit_delays_the_next_poll_and_divides_none(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"".join(b"%d\n" % n for n in range(400)))
    spec = replace(_transactional(spec), limit=RateLimit(records=100))
    task = RunningTask(spec)
    wait_until(lambda: len(committed(broker, topic)) >= 400)
    append(file, b"last\n")
    wait_until(lambda: len(committed(broker, topic)) == 401)
    task.stop()
    assert task.runner.meter.largest_transaction == 400
    assert task.runner.meter.throttled_ms > 2_000  # 400 records take four seconds, of which half a one is made up for
