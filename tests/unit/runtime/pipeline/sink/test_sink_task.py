"""A sink task on a real broker: the records put and the offsets committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import SinkTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec
from runtime.pipeline.sink import sink_task
from runtime.pipeline.sink.consumer import fetch
from tests.support.broker import KafkaBroker, unique
from tests.support.tasks.pipeline import file_sink, group_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

JSON = ConverterSpec("JsonConverter", {"schemas.enable": "false"})


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines() if file.exists() else []


def test_records_become_lines_and_offsets_are_committed(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = broker.create_topic(partitions=3), tmp_path / "out.txt"
    broker.produce(topic, b"one", b"gr\xfcn", None)
    spec = file_sink(broker, file, topic)
    task = RunningTask(spec)
    wait_until(lambda: _lines(file) == [b"one", b"gr\xfcn", b"null"])
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 3, (topic, 1): 0, (topic, 2): 0})
    task.stop()
    assert task.host.states == [State.RUNNING]
    assert task.host.topics == [topic]
    assert len(task.host.members) == 1
    broker.produce(topic, b"four", partition=1)
    again = RunningTask(spec)
    wait_until(lambda: _lines(file)[3:] == [b"four"])
    again.stop()
    assert group_offsets(broker, spec) == {(topic, 0): 3, (topic, 1): 1, (topic, 2): 0}


def test_java_text_of_json(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = broker.create_topic(), tmp_path / "out.txt"
    values = ['"s"', "1", "1.5", "true", "null", "[1,2]", "1e3", '{"b": 1, "a": {"c": [1, {"d": null}]}}']
    broker.produce(topic, *[value.encode() for value in values])
    task = RunningTask(file_sink(broker, file, topic, value_converter=JSON))
    text = [b"s", b"1", b"1.5", b"true", b"null", b"[1, 2]", b"1000.0", b"{a={c=[1, {d=null}]}, b=1}"]
    wait_until(lambda: _lines(file) == text)
    task.stop()


def test_a_poison_record_fails_the_task_and_no_record_of_its_batch_is_put(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = broker.create_topic(), tmp_path / "out.txt"
    broker.produce(topic, b'"good"', b"{broken", b'"never"')
    spec = file_sink(broker, file, topic, value_converter=JSON)
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert task.host.trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
        "Caused by: org.apache.kafka.connect.errors.DataException: "
        "Converting byte[] to Kafka Connect data failed due to serialization error: "
    )
    assert _lines(file) == []
    assert group_offsets(broker, spec).get((topic, 0), 0) == 0
    tolerant = RunningTask(replace(spec, config={**spec.config, "errors.tolerance": "all"}))
    wait_until(lambda: _lines(file) == [b"good", b"never"])
    tolerant.stop()
    assert group_offsets(broker, spec) == {(topic, 0): 3}


def test_a_full_disk_fails_the_task_and_commits_nothing(broker: KafkaBroker, topic: str) -> None:
    broker.produce(topic, b"one")
    spec = file_sink(broker, Path("/dev/full"), topic)
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert "Cannot write to /dev/full: No space left on device" in task.host.trace.splitlines()[0]
    assert group_offsets(broker, spec).get((topic, 0), 0) == 0


def test_pause_keeps_the_membership_and_reads_nothing(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = broker.create_topic(), tmp_path / "out.txt"
    broker.produce(topic, b"one")
    task = RunningTask(file_sink(broker, file, topic))
    wait_until(lambda: _lines(file) == [b"one"])
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    broker.produce(topic, b"two")
    assert _lines(file) == [b"one"]
    task.runner.pause(False)
    wait_until(lambda: _lines(file) == [b"one", b"two"])
    task.stop()
    assert len(task.host.members) == 1


def test_two_tasks_of_a_group_lose_nothing_when_one_stops(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = broker.create_topic(partitions=4), tmp_path / "out.txt"
    spec = file_sink(broker, file, topic)
    spec = replace(spec, consumer={**spec.consumer, "heartbeat.interval.ms": 300})  # rebalances end soon
    sent: list[bytes] = []

    def send(label: str) -> None:
        for partition in range(4):
            batch = [f"{label} {partition} {n}".encode() for n in range(500)]
            broker.produce(topic, *batch, partition=partition)
            sent.extend(batch)

    first = RunningTask(spec)
    send("a")
    wait_until(lambda: len(_lines(file)) == 2000)
    second = RunningTask(replace(spec, task=1))
    send("b")
    wait_until(lambda: second.host.members, what="the second task joined")
    wait_until(lambda: len(_lines(file)) == 4000)
    send("c")
    first.stop()
    send("d")
    wait_until(lambda: len(_lines(file)) >= 8000)
    second.stop()
    assert Counter(_lines(file)) == Counter(sent)
    assert group_offsets(broker, spec) == {(topic, p): 2000 for p in range(4)}


def test_a_topic_created_later_is_read(broker: KafkaBroker, tmp_path: Path) -> None:
    prefix, file = unique("late"), tmp_path / "out.txt"
    spec = file_sink(broker, file)
    consumer = {**spec.consumer, "metadata.max.age.ms": 1000}
    spec = replace(spec, consumer=consumer, topics_regex=rf"\Q{prefix}\E-\p{{Lower}}+")
    task = RunningTask(spec)
    task.wait_state(State.RUNNING)
    broker.produce(broker.create_topic(f"{prefix}-a"), b"one")
    broker.produce(broker.create_topic(f"{prefix}-1"), b"not this")
    wait_until(lambda: _lines(file) == [b"one"])
    broker.produce(broker.create_topic(f"{prefix}-b"), b"two")
    wait_until(lambda: _lines(file) == [b"one", b"two"])
    task.stop()


def test_a_missing_named_topic_is_created_if_the_broker_creates_topics(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = unique("made"), tmp_path / "out.txt"
    task = RunningTask(file_sink(broker, file, topic))
    wait_until(lambda: [line for line in task.host.lines if f"Assigned: {topic}-0" in line])
    broker.produce(topic, b"one")
    wait_until(lambda: _lines(file) == [b"one"])
    task.stop()


def test_the_task_waits_for_a_named_topic_that_does_not_exist_yet(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, file = unique("later"), tmp_path / "out.txt"
    spec = file_sink(broker, file, topic)
    task = RunningTask(replace(spec, consumer={**spec.consumer, "allow.auto.create.topics": False}))
    task.wait_state(State.RUNNING)
    broker.produce(broker.create_topic(topic), b"one")
    wait_until(lambda: _lines(file) == [b"one"])
    task.stop()


class Recorder(SinkTask):
    """A sink that records its calls. `calls` is shared by all instances; a test clears it."""

    calls: list[tuple[str, object]] = []  # noqa: RUF012
    refuse = 0
    went_back = False

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append(("start", None))

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("open", list(partitions)))

    def put(self, records: Sequence[SinkRecord]) -> None:
        cls = type(self)
        if cls.refuse:
            cls.refuse -= 1
            self.calls.append(("refused", [r.kafka_offset for r in records]))
            raise RetriableError("not yet")
        self.calls.append(("put", [r.kafka_offset for r in records]))
        if records[-1].kafka_offset == 9 and not cls.went_back:
            cls.went_back = True
            self.context.seek({TopicPartition(records[0].topic, 0): 7})
            self.context.request_commit()

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.append(("flush", list(offsets.values())))

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("close", list(partitions)))

    def stop(self) -> None:
        self.calls.append(("stop", None))


@pytest.fixture
def recorder() -> type[Recorder]:
    Recorder.calls, Recorder.refuse, Recorder.went_back = [], 0, False
    return Recorder


def test_seek_commit_request_and_the_order_of_calls(
    broker: KafkaBroker, topic: str, tmp_path: Path, recorder: type[Recorder]
) -> None:
    broker.produce(topic, *[str(n).encode() for n in range(10)])
    spec = file_sink(broker, tmp_path / "x", topic, task_class=f"{__name__}:Recorder", flush_interval=3600)
    recorder.refuse = 2
    task = RunningTask(spec)
    wait_until(lambda: [v for n, v in recorder.calls if n == "put"][-1:] == [[7, 8, 9]] or None)
    wait_until(lambda: group_offsets(broker, spec) in ({(topic, 0): 7}, {(topic, 0): 10}))
    task.stop()
    names = [name for name, _ in recorder.calls]
    assert names[:5] == ["start", "open", "refused", "refused", "put"]
    assert names[-3:] == ["flush", "close", "stop"]
    assert recorder.calls[2][1] == recorder.calls[3][1] == recorder.calls[4][1], "the same batch is put again"
    assert group_offsets(broker, spec) == {(topic, 0): 10}


class Seeker(Recorder):
    """The test seeks for it, as a task may do in close()."""

    latest: SinkTask

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        Seeker.latest = self


def test_messages_that_were_fetched_before_a_seek_are_not_put(
    broker: KafkaBroker, tmp_path: Path, recorder: type[Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, fetches = broker.create_topic(), list[int]()
    broker.produce(topic, *[str(n).encode() for n in range(8)])

    def fetch_and_seek(consumer: Any, most: int, timeout: float) -> list[Any]:
        messages = fetch(consumer, most, timeout)
        if messages and not fetches:  # as a rebalance in which another partition is lost
            fetches.append(len(messages))
            Seeker.latest.context.seek({TopicPartition(topic, 0): 5})
        return messages

    monkeypatch.setattr(sink_task, "fetch", fetch_and_seek)

    def put() -> list[Any]:
        return [offset for name, offsets in recorder.calls if name == "put" for offset in cast("list[Any]", offsets)]

    task = RunningTask(file_sink(broker, tmp_path / "x", topic, task_class=f"{__name__}:Seeker"))
    wait_until(lambda: put()[-1:] == [7])
    task.stop()
    assert put() == [5, 6, 7]


def test_a_revoked_sink_task_neither_puts_nor_commits(
    broker: KafkaBroker, topic: str, tmp_path: Path, recorder: type[Recorder]
) -> None:
    broker.produce(topic, b"one")
    spec = file_sink(broker, tmp_path / "x", topic, task_class=f"{__name__}:Recorder", flush_interval=3600)
    task = RunningTask(spec)
    wait_until(lambda: "put" in [name for name, _ in recorder.calls])
    task.runner.revoke()
    task.join()
    assert [name for name, _ in recorder.calls] == ["start", "open", "put", "stop"]
    assert group_offsets(broker, spec) == {}
    assert task.host.states == [State.RUNNING]


def test_records_that_are_all_skipped_count_as_written(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    """Otherwise a task whose records are all filtered out would seem to be stalled."""
    broker.produce(topic, b"{broken", b"{broken too")
    config = {"errors.tolerance": "all"}
    task = RunningTask(file_sink(broker, tmp_path / "out.txt", topic, value_converter=JSON, config=config))
    meter = task.runner.meter
    wait_until(lambda: meter.read == 2)
    wait_until(lambda: (meter.written, meter.active) == (2, 0))
    task.stop()
