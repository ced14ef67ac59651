"""A source task on a real broker: the records written and the offsets committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import (
    append,
    file_source,
    filled_source,
    messages,
    records,
    source_offsets,
    source_task,
)
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until


def _values(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    return [value for _, value in records(broker, topic)]


def test_lines_go_to_the_topic_and_offsets_follow(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\ntwo\nhalf")
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, spec.offsets_topic) == 1)
    append(file, b" line\r\nlast\n")
    wait_until(lambda: count(broker.bootstrap, topic) == 4)
    task.stop()
    assert records(broker, topic) == [(None, b"one"), (None, b"two"), (None, b"half line"), (None, b"last")]
    key = orjson.dumps([spec.connector, {"filename": str(file)}])
    assert records(broker, spec.offsets_topic) == [(key, b'{"position":8}'), (key, b'{"position":24}')]
    assert task.host.states == [State.RUNNING]
    assert task.host.topics == [topic]


def test_bytes_that_are_not_utf8_are_preserved(broker: KafkaBroker, tmp_path: Path) -> None:
    lines = [b"gr\xfcn", "grün".encode(), bytes(b for b in range(256) if b not in b"\r\n")]
    file, topic, spec = filled_source(broker, tmp_path, b"\n".join([*lines, b""]))
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 3)
    task.stop()
    assert _values(broker, topic) == lines
    assert source_offsets(broker, spec)[0].offset == {"position": file.stat().st_size}


def test_a_restarted_task_sends_no_record_twice(broker: KafkaBroker, tmp_path: Path) -> None:
    expected = [f"line {number}".encode() for number in range(200_000)]
    _, topic, spec = filled_source(broker, tmp_path, b"\n".join([*expected, b""]))
    for stop_at in (1, 50_000, 120_000, 200_000):
        task = RunningTask(replace(spec, offsets=source_offsets(broker, spec)))
        wait_until(lambda at=stop_at: count(broker.bootstrap, topic) >= at)  # type: ignore[misc]
        task.stop()
    assert _values(broker, topic) == expected


def test_a_known_partition_keeps_the_bytes_of_its_key(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\ntwo\n")
    raw = f'["{spec.connector}", {{"filename": "{file}"}} ]'
    first = source_offsets(broker, spec)
    assert first == []
    from runtime.model.task_spec import SourceOffset

    task = RunningTask(replace(spec, offsets=[SourceOffset({"filename": str(file)}, {"position": 4}, raw)]))
    wait_until(lambda: count(broker.bootstrap, spec.offsets_topic) == 1)
    task.stop()
    assert _values(broker, topic) == [b"two"]
    assert records(broker, spec.offsets_topic) == [(raw.encode(), b'{"position":8}')]


class Counting(SourceTask):
    """Records of several source partitions, with keys, headers, timestamps; the sixth cannot be converted to bytes."""

    def start(self, config: object) -> None:
        self._at = 0

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._at:
            return None
        self._at = 1
        topic = self.context.configs["topic"]
        values = [b"0", b"1", b"2", b"3", b"4", object(), b"6"]
        return [
            SourceRecord(
                {"p": n % 2},
                {"n": n},
                topic,
                value,
                key=b"k",
                timestamp=n + 5 if n == 3 else None,
                headers=[("h", None, "x")] if n == 1 else None,
            )
            for n, value in enumerate(values)
        ]


BYTES = ConverterSpec("ByteArrayConverter")


def test_a_poison_record_fails_the_task_after_the_earlier_records_are_sent(broker: KafkaBroker, topic: str) -> None:
    config = {"topic": topic}
    spec = source_task(broker, f"{__name__}:Counting", config, key_converter=BYTES, value_converter=BYTES)
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    first, cause, *_ = task.host.trace.splitlines()
    assert first == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert cause.startswith("Caused by: org.apache.kafka.connect.errors.DataException: ")
    assert records(broker, topic) == [(b"k", str(n).encode()) for n in range(5)]
    assert {o.partition["p"]: o.offset["n"] for o in source_offsets(broker, spec)} == {0: 4, 1: 3}


def test_tolerance_all_skips_failed_records(broker: KafkaBroker, topic: str) -> None:
    config = {"topic": topic, "errors.tolerance": "all", "errors.log.enable": "true"}
    spec = source_task(broker, f"{__name__}:Counting", config, key_converter=BYTES, value_converter=BYTES)
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 6)
    task.stop()
    assert task.host.states == [State.RUNNING]
    assert {o.partition["p"]: o.offset["n"] for o in source_offsets(broker, spec)} == {0: 6, 1: 5}
    assert any("VALUE_CONVERTER" in line for line in task.host.lines)


def test_a_record_that_kafka_refuses_fails_the_task_and_its_offset_is_not_committed(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic(max_message_bytes="2000")
    file.write_bytes(b"short\n")
    spec = file_source(broker, file, topic)
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 1)
    append(file, b"x" * 5000 + b"\n")
    task.join()
    assert task.host.states[-1] is State.FAILED
    assert "MSG_SIZE_TOO_LARGE" in task.host.trace
    assert f"a record for topic {topic} exceeds" in task.host.trace
    assert "Raise max.message.bytes of the topic and producer.override.max.request.size" in task.host.trace
    assert [o.offset for o in source_offsets(broker, spec)] == [{"position": 6}]


@pytest.mark.parametrize(
    "key, value, reason",
    [
        ("cleanup_policy", "compact", "topic {} has cleanup.policy=compact and the record has no key"),
        (
            "message_timestamp_before_max_ms",
            "1",
            "message.timestamp.after.max.ms of topic {} does not allow the timestamp",
        ),
    ],
)
def test_the_setting_of_a_topic_that_does_not_admit_a_record_is_named(
    broker: KafkaBroker, tmp_path: Path, key: str, value: str, reason: str
) -> None:
    """The client omits the broker's message for the record, which says this."""
    topic = broker.create_topic(unique("topic"), 1, **{key: value})
    (tmp_path / "in.txt").write_bytes(b"keyless\n")
    task = RunningTask(file_source(broker, tmp_path / "in.txt", topic))
    task.join()
    assert reason.format(topic) in task.host.trace


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_records_of_a_request_that_is_too_large_are_sent_again_one_by_one(
    broker: KafkaBroker, tmp_path: Path, tolerance: str
) -> None:
    """The broker's limit applies to a whole batch of the client."""
    file, topic = tmp_path / "in.txt", broker.create_topic(max_message_bytes="2000")
    lines = [b"x" * 90 + b"%d" % n for n in range(300)]
    lines[100] = b"y" * 3000
    kept = lines if tolerance == "none" else [line for line in lines if len(line) < 2000]
    if tolerance == "none":
        del lines[100]
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    spec = file_source(broker, file, topic, config={"errors.tolerance": tolerance})
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, spec.offsets_topic) or State.FAILED in task.host.states)
    task.stop()
    assert task.host.states == [State.RUNNING], task.host.trace
    assert _values(broker, topic) == kept
    assert [o.offset for o in source_offsets(broker, spec)] == [{"position": file.stat().st_size}]
    assert task.runner.errors is not None and task.runner.errors.skipped == (tolerance == "all")


class HeadersTask(SourceTask):
    """One batch of records with headers and timestamps, some of them equal."""

    def start(self, config: object) -> None:
        self._polled = False

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._polled:
            return None
        self._polled = True
        return [
            SourceRecord(
                {"p": 0}, {"n": n}, self.context.configs["topic"], b"x" * 500, timestamp=n + 5, key=b"%d" % (n % 2),
                headers=[("h", None, str(n))],
            )
            for n in range(20)
        ]  # fmt: skip


def test_records_sent_again_keep_headers_and_timestamps(broker: KafkaBroker) -> None:
    topic = broker.create_topic(max_message_bytes="2000")
    spec = source_task(broker, f"{__name__}:HeadersTask", {"topic": topic}, key_converter=BYTES, value_converter=BYTES)
    spec = replace(spec, producer={**spec.producer, "linger.ms": 50})
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, spec.offsets_topic) or State.FAILED in task.host.states)
    task.stop()
    assert task.host.states == [State.RUNNING], task.host.trace
    found = [(m.key(), m.headers(), m.timestamp()[1]) for m in messages(broker, topic)]
    assert found == [(b"%d" % (n % 2), [("h", b"%d" % n)], n + 5) for n in range(20)]


def test_pause_and_resume(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\n", paused=True)
    task = RunningTask(spec)
    task.wait_state(State.PAUSED)
    task.runner.pause(False)
    wait_until(lambda: count(broker.bootstrap, topic) == 1)
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    append(file, b"two\n")
    task.runner.pause(False)
    wait_until(lambda: count(broker.bootstrap, topic) == 2)
    task.stop()
    assert task.host.states == [State.PAUSED, State.RUNNING, State.PAUSED, State.RUNNING]


def test_a_revoked_source_task_commits_and_reports_nothing(broker: KafkaBroker, tmp_path: Path) -> None:
    _, topic, spec = filled_source(broker, tmp_path, b"one\n", flush_interval=3600)
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 1)
    task.runner.revoke()
    task.join()
    assert task.host.states == [State.RUNNING]
    assert count(broker.bootstrap, spec.offsets_topic) == 0


def test_an_expired_lease_ends_the_task(broker: KafkaBroker, tmp_path: Path) -> None:
    file, topic, spec = filled_source(broker, tmp_path, b"one\n", flush_interval=3600)
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 1)
    task.host.lease_over = True
    append(file, b"two\n")
    task.join()
    assert count(broker.bootstrap, topic) == 1
    assert count(broker.bootstrap, spec.offsets_topic) == 0
    assert task.host.states == [State.RUNNING]
