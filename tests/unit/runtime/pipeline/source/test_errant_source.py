"""Rows that a source could not read, on a real broker: skipped with a dead letter, or the end of the task."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from runtime.api.data.record import ErrantSourceRecord
from runtime.api.errors import DataError
from runtime.model.states import State
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.source.errant import fail_errant
from tests.support.broker import KafkaBroker
from tests.support.kafka.committed import committed, committed_offsets, values
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import exactly_once, messages, source_task
from tests.support.tasks.slot_host import RunningTask
from tests.support.tasks.transforms import tolerance
from tests.support.waiting import wait_until

DEAD = [b'{"n": ', b"not JSON", b"\xff"]
LINES = b'{"n": 0}\n%b\n{"n": 2}\n%b\n%b\n{"n": 5}\n' % tuple(DEAD)
GOOD = [b'{"n":0}', b'{"n":2}', b'{"n":5}']


def _spec(broker: KafkaBroker, folder: Path, delivery: str, tolerated: str) -> TaskSpec:
    topic, dead = broker.create_topic(), broker.create_topic()
    spec = source_task(
        broker,
        "runtime.connectors.files.source.task:FilesSourceTask",
        {
            "topic": topic, "url": str(folder), "errors.tolerance": tolerated,
            "errors.deadletterqueue.topic.name": dead,
        },
        key_converter=ConverterSpec("org.apache.kafka.connect.storage.StringConverter"),
        value_converter=ConverterSpec("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"}),
    )  # fmt: skip
    return spec if delivery == "at least once" else exactly_once(spec)


@pytest.mark.parametrize("delivery", ["at least once", "exactly once"])
def test_rows_that_are_skipped_are_dead_letters_and_their_offsets_are_committed(
    broker: KafkaBroker, tmp_path: Path, delivery: str
) -> None:
    (tmp_path / "a.json").write_bytes(LINES)
    spec = _spec(broker, tmp_path, delivery, "all")
    topic, dead = spec.config["topic"], spec.config["errors.deadletterqueue.topic.name"]
    task = RunningTask(spec)
    wait_until(lambda: len(committed(broker, topic)) == 3 and len(committed(broker, dead)) == 3)
    task.stop()
    assert (values(broker, topic), values(broker, dead)) == (GOOD, DEAD)
    headers = dict(messages(broker, dead)[0].headers() or [])
    assert headers["__connect.errors.stage"] == b"TASK_POLL"
    assert headers["__connect.errors.connector.name"].decode() == spec.connector
    assert headers["__connect.errors.exception.message"].startswith(
        b"Cannot read a.json as json: row 1: not valid JSON"
    )
    trace = headers["__connect.errors.exception.stacktrace"].decode()
    assert trace.startswith(
        "org.apache.kafka.connect.errors.DataException: Cannot read a.json as json: row 1: not valid"
    )
    assert orjson.loads(headers["headrace.source.partition"]) == {"path": "a.json"}
    assert orjson.loads(headers["headrace.source.offset"])["row"] == 2
    assert [offset.offset["row"] for offset in committed_offsets(broker, spec)] == [6]
    assert task.runner.errors is not None
    assert (task.runner.errors.skipped, task.runner.errors.dead_letters) == (3, 3)


def test_a_place_that_orjson_does_not_support_is_told_too() -> None:
    record = ErrantSourceRecord({"id": 1 << 70}, {"name": "\udc80"}, DataError("odd"), b"raw", "dead")
    batch, skipped = fail_errant([record], "plugin", tolerance(tolerate_all=True))
    headers = dict(batch.runs[0].messages[0]["headers"])
    assert (skipped, batch.error) == (1, None)
    assert headers["headrace.source.partition"] == b'{"id":1180591620717411303424}'
    assert headers["headrace.source.offset"] == b'{"name":"\\udc80"}'


@pytest.mark.parametrize("delivery", ["at least once", "exactly once"])
def test_without_tolerance_the_task_fails_at_the_row_after_those_before_it(
    broker: KafkaBroker, tmp_path: Path, delivery: str
) -> None:
    (tmp_path / "a.json").write_bytes(LINES.replace(DEAD[0] + b"\n", b'{"n": 1}\n'))
    spec = _spec(broker, tmp_path, delivery, "none")
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert "Cannot read a.json as json: row 3: not valid JSON" in task.host.trace
    assert values(broker, spec.config["topic"]) == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert count(broker.bootstrap, spec.config["errors.deadletterqueue.topic.name"]) == 0
    assert [offset.offset["row"] for offset in committed_offsets(broker, spec)] == [3]
