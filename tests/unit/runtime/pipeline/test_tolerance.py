"""errors.*: failed records go to the dead letter topic, with exact counts and Java's headers; on a real broker."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.errors import DataError, RetriableError
from runtime.api.task import SinkTask, SourceTask
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec, TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import dead_letters
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import file_sink, group_offsets, messages, task_spec
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

HERE = "tests.unit.runtime.pipeline.test_tolerance"
JSON = ConverterSpec("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"})
TRANSFORMS = "org.apache.kafka.connect.transforms."
CONTEXT = ["topic", "partition", "offset", "connector.name", "task.id", "stage", "class.name", "exception.class.name",
           "exception.message", "exception.stacktrace"]  # fmt: skip


def _tolerant(letters: str, **more: str) -> dict[str, str]:
    return {**dead_letters(letters), **more}


def _sink(broker: KafkaBroker, file: Path, topic: str, config: dict[str, str], **more: Any) -> TaskSpec:
    client = {"bootstrap.servers": broker.bootstrap}
    return file_sink(
        broker, file, topic, config=config, producer=client, key_converter=JSON, value_converter=JSON, **more
    )


def _broken(number: int) -> tuple[bytes | None, bytes, str | None]:
    """Key, value, and the stage that fails; 7 of 100 records fail: broken keys, broken values, values that are not
    maps, values that cannot be cast."""
    kinds: dict[int, tuple[bytes | None, bytes, str]] = {
        3: (b"{bad", b'{"n": 1}', "KEY_CONVERTER"),
        11: (b"1", b"{broken", "VALUE_CONVERTER"),
        19: (None, b'"text"', "TRANSFORMATION"),
        23: (b"2", b"{", "VALUE_CONVERTER"),
        42: (b"3", b'{"n": "abc"}', "TRANSFORMATION"),
        77: (b"[", b"x", "KEY_CONVERTER"),
        99: (None, b"[1]", "TRANSFORMATION"),
    }
    return kinds.get(number % 100) or (b'"k"', b'{"n": "%d"}' % number, None)


def test_ten_thousand_records_of_which_seven_percent_are_broken(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, letters, copy = broker.create_topic(), unique("letters"), tmp_path / "out.txt"
    sent = [_broken(number) for number in range(10_000)]
    with broker.writing() as write:
        for key, value, _ in sent:
            write(topic, value, key, headers=[("own", b"1")], partition=0)
    config = _tolerant(
        letters,
        transforms="c",
        **{"transforms.c.type": f"{TRANSFORMS}Cast$Value", "transforms.c.spec": "n:int32"},
    )
    spec = _sink(broker, copy, topic, config)
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10_000}, 60)
    task.stop()
    assert task.host.states == [State.RUNNING], task.host.trace
    good = [number for number, (_, _, stage) in enumerate(sent) if stage is None]
    assert copy.read_text().splitlines() == [f"{{n={number}}}" for number in good]
    found = messages(broker, letters)
    failed = [(number, *record) for number, record in enumerate(sent) if record[2] is not None]
    assert len(found) == len(failed) == 700
    assert [(m.key(), m.value()) for m in found] == [(key, value) for _, key, value, _ in failed]
    stages: Counter[tuple[str, str]] = Counter()
    for message, (number, _, _, stage) in zip(found, failed, strict=True):
        headers = message.headers()
        assert [name for name, _ in headers] == ["own", *(f"__connect.errors.{name}" for name in CONTEXT)]
        letter = {name.removeprefix("__connect.errors."): value.decode() for name, value in headers}
        assert (letter["topic"], letter["partition"], letter["offset"]) == (topic, "0", str(number))
        assert (letter["connector.name"], letter["task.id"], letter["stage"]) == (spec.connector, "0", stage)
        assert letter["exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
        assert letter["exception.stacktrace"].startswith(
            f"{letter['exception.class.name']}: {letter['exception.message']}"
        )
        stages[letter["stage"], letter["class.name"]] += 1
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    assert stages == {
        ("KEY_CONVERTER", json_converter): 200,
        ("VALUE_CONVERTER", json_converter): 200,
        ("TRANSFORMATION", f"{TRANSFORMS}Cast$Value"): 300,
    }


def test_without_tolerance_the_record_is_dead_lettered_and_the_task_fails(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, letters = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b'"good"', b"{")
    spec = _sink(broker, tmp_path / "out.txt", topic, _tolerant(letters, **{"errors.tolerance": "none"}))
    task = RunningTask(spec)
    wait_until(lambda: State.FAILED in task.host.states)
    assert task.host.trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\nCaused by: "
        "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed due to "
    )
    assert group_offsets(broker, spec).get((topic, 0), 0) == 0
    wait_until(lambda: count(broker.bootstrap, letters) == 1)


def test_a_dead_letter_topic_that_cannot_be_created_fails_the_task(broker: KafkaBroker, tmp_path: Path) -> None:
    letters = unique("letters")
    config = _tolerant(letters, **{"errors.deadletterqueue.topic.replication.factor": "3"})
    task = RunningTask(_sink(broker, tmp_path / "out.txt", broker.create_topic(), config))
    wait_until(lambda: State.FAILED in task.host.states)
    assert f"Could not initialize dead letter queue with topic={letters}" in task.host.trace


class Picky(SinkTask):
    """A sink that reports every record except good ones; the first put() raises RetriableError."""

    taken: list[Any] = []  # noqa: RUF012 - read by the test
    refusals = 0

    def start(self, config: Mapping[str, str]) -> None:
        type(self).taken, type(self).refusals = [], 0

    def put(self, records: Sequence[SinkRecord]) -> None:
        if records and type(self).refusals < 3:
            type(self).refusals += 1
            raise RetriableError("not ready")
        for record in records:
            if record.value == "good":
                self.taken.append(record.value)
                continue
            reporter = self.context.errant_record_reporter
            assert reporter is not None
            reporter.report(record, DataError(f"cannot take {record.value}")).result(30)


def test_a_sink_reports_errant_records(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, letters = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b'"good"', b'"bad"', b'"good"')
    config = _tolerant(letters, transforms="r", **{
        "transforms.r.type": "RegexRouter", "transforms.r.regex": ".*", "transforms.r.replacement": "elsewhere",
    })  # fmt: skip
    spec = _sink(broker, tmp_path / "out.txt", topic, config, task_class=f"{HERE}:Picky")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 3}, 30)
    task.stop()
    picky = sys.modules[HERE].Picky  # pytest imports this module under another name
    assert (picky.taken, picky.refusals) == (["good", "good"], 3)
    (message,) = messages(broker, letters)
    letter = {name.removeprefix("__connect.errors."): value.decode() for name, value in message.headers()}
    assert (message.value(), letter["topic"], letter["offset"], letter["stage"]) == (b'"bad"', topic, "1", "TASK_PUT")
    assert letter["class.name"] == "org.apache.kafka.connect.sink.SinkTask"
    assert letter["exception.message"] == "cannot take bad"


class Mixed(SourceTask):
    """One batch: a value that cannot be transformed, a value too large for a message, and two valid values."""

    def start(self, config: Mapping[str, str]) -> None:
        self._topic, self._polled = config["topic"], False

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._polled:
            return None
        self._polled = True
        values: list[Any] = [{"n": 1}, "no map", {"n": "x" * 3_000_000}, {"n": 2}]
        return [SourceRecord({"p": 1}, {"o": number}, self._topic, value) for number, value in enumerate(values)]


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_source_skips_a_failed_record_or_fails_at_it(broker: KafkaBroker, tolerance: str) -> None:
    topic, offsets = broker.create_topic(), broker.create_topic()
    config = {
        "topic": topic, "errors.tolerance": tolerance, "transforms": "r",
        "transforms.r.type": f"{TRANSFORMS}ReplaceField$Value", "transforms.r.renames": "n:m",
    }  # fmt: skip
    producer = {"bootstrap.servers": broker.bootstrap}
    spec = task_spec(
        "source", f"{HERE}:Mixed", config, producer=producer, offsets_topic=offsets, key_converter=JSON,
        value_converter=JSON,
    )  # fmt: skip
    task = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, offsets) == 1 or State.FAILED in task.host.states)
    task.stop()
    values = [m.value() for m in messages(broker, topic)]
    offset = messages(broker, offsets)[-1].value()
    if tolerance == "all":
        assert task.host.states == [State.RUNNING], task.host.trace
        assert (values, offset) == ([b'{"m":1}', b'{"m":2}'], b'{"o":3}')
    else:
        assert task.host.states == [State.RUNNING, State.FAILED]
        assert (values, offset) == ([b'{"m":1}'], b'{"o":0}')
