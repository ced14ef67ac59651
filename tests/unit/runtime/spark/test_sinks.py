"""Rows of DataFrames through sink tasks, without a JVM: records, transformations, errors, dead letters, flushes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runtime.api.connector import SinkConnector
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConfigError, ConnectError, DataError, RetriableError
from runtime.api.task import SinkTask
from runtime.model.states import ConnectorType
from runtime.plugins import registry
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.sink.sink_run import SinkPlan, SinkTaskRun, first_offset
from tests.support.kafka.mock_kafka import MockKafka
from tests.support.kafka.topics import values

JSON = "org.apache.kafka.connect.json.JsonConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms"


class RowsTask(SinkTask):
    """Keeps what it gets, fails as its configuration says."""

    got: list[SinkRecord] = []  # noqa: RUF012 - of all tasks, cleared by the fixture
    calls: list[str] = []  # noqa: RUF012 - as above
    refusals = 0

    def start(self, config: Mapping[str, str]) -> None:
        self._config = config

    def put(self, records: Sequence[SinkRecord]) -> None:
        if RowsTask.refusals:
            RowsTask.refusals -= 1
            raise RetriableError("busy")
        for record in records:
            if self._config.get("refuse") == "odd" and record.value["n"] % 2:
                reporter = self.context.errant_record_reporter
                if reporter is None:
                    raise DataError("odd")
                reporter.report(record, DataError("odd"))
            else:
                RowsTask.got.append(record)

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        RowsTask.calls.append("pre_commit")
        kept = self._config.get("keep") == "ever" or RowsTask.calls.count("pre_commit") <= int(
            self._config.get("commits", "0")
        )
        return {} if kept else offsets

    def stop(self) -> None:
        RowsTask.calls.append("stop")


class RowsConnector(SinkConnector):
    task_class = RowsTask


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> type[RowsTask]:
    plugin = ("tests.RowsConnector", f"{__name__}:RowsConnector", (registry.PluginType.SINK,))
    monkeypatch.setattr(registry, "BUNDLED", (*registry.BUNDLED, plugin))
    RowsTask.got, RowsTask.calls, RowsTask.refusals = [], [], 0
    return RowsTask


def write(table: Any, connector: str = "tests.RowsConnector", **options: str) -> int:
    given = {name.replace("_", "."): text for name, text in options.items()}
    found = SparkConnector(SparkOptions.of({"connector.class": connector, **given}), ConnectorType.SINK)
    return SinkTaskRun(found, found.planned()[0], 3, 100).write(table.to_batches(max_chunksize=2))


NUMBERS = pa.table({"n": [1, 2, 3]})


def test_rows_are_structs_with_coordinates() -> None:
    assert write(NUMBERS, topics="orders") == 3
    assert [record.value for record in RowsTask.got] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [(r.topic, r.kafka_partition, r.kafka_offset) for r in RowsTask.got] == [
        ("orders", 3, o) for o in (100, 101, 102)
    ]
    schema = RowsTask.got[0].value_schema
    assert schema is not None
    assert [(field.name, field.schema.type) for field in schema.fields] == [("n", "int64")]
    assert RowsTask.calls == ["pre_commit", "stop"]


def test_transformations_are_applied() -> None:
    write(
        NUMBERS, transforms="k,x", transforms_k_type=f"{TRANSFORMS}.ValueToKey", transforms_k_fields="n",
        transforms_x_type=f"{TRANSFORMS}.ReplaceField$Value", transforms_x_renames="n:number",
    )  # fmt: skip
    assert [(record.key, record.value) for record in RowsTask.got] == [({"n": n}, {"number": n}) for n in (1, 2, 3)]


def test_record_columns() -> None:
    table = pa.table(
        {
            "key": ["a", None], "value": [{"n": 1}, None], "topic": ["t1", "t2"],
            "headers": pa.array([[("h", "1")], None], pa.map_(pa.string(), pa.string())),
        }
    )  # fmt: skip
    write(table)
    assert [(r.topic, r.key, r.value, r.headers) for r in RowsTask.got] == [
        ("t1", "a", {"n": 1}, [("h", (RowsTask.got[0].headers or [])[0][1], "1")]),
        ("t2", None, None, RowsTask.got[1].headers),
    ]
    assert not RowsTask.got[1].headers


def test_converters_read_bytes() -> None:
    table = pa.table({"value": ['{"n": 1}', b'{"n": 2}'.decode()]})
    write(table, value_converter=JSON, value_converter_schemas_enable="false")
    assert [record.value for record in RowsTask.got] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (NUMBERS, {"headrace_columns": "record"}, "no column value"),
        (NUMBERS, {"headrace_columns": "value", "value_converter": JSON}, "need no converter: leave it out"),
        (pa.table({"value": [1], "n": [1]}), {"headrace_columns": "record"}, "Column n is not one of key, value"),
        (pa.table({"value": [1]}), {"value_converter": JSON}, "Column value is int64, but value.converter reads bytes"),
        (NUMBERS, {"errors_tolerance": "all", "errors_deadletterqueue_topic_name": "dead"}, "headrace.kafka.bootstrap"),
    ],
)
def test_errors_name_the_column_or_option(table: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        write(table, **options)


def test_a_row_that_fails_ends_the_query_without_tolerance() -> None:
    with pytest.raises(ConnectError, match="odd"):
        write(NUMBERS, refuse="odd")
    assert RowsTask.calls == ["stop"]


def test_failed_rows_become_dead_letters() -> None:
    kafka = MockKafka()
    topic = kafka.create_topic()
    write(
        NUMBERS, refuse="odd", errors_tolerance="all", errors_deadletterqueue_topic_name=topic,
        headrace_kafka_bootstrap_servers=kafka.bootstrap,
    )  # fmt: skip
    assert [record.value for record in RowsTask.got] == [{"n": 2}]
    assert values(kafka.bootstrap, topic, 2) == [b'{"n":1}', b'{"n":3}']


def test_a_busy_system_is_retried() -> None:
    RowsTask.refusals = 2
    write(NUMBERS)
    assert len(RowsTask.got) == 3


def test_a_flush_waits_for_records_that_the_task_keeps_back() -> None:
    write(NUMBERS, commits="2")
    assert RowsTask.calls.count("pre_commit") == 3
    with pytest.raises(ConnectError, match=r"still holds records after 0.2 s \(headrace.timeout.ms\)"):
        write(NUMBERS, keep="ever", headrace_timeout_ms="200")


def test_offsets_of_a_query_rise_and_differ_from_those_of_others() -> None:
    offsets = [first_offset(batch, "query") for batch in range(3)]
    assert offsets == sorted(offsets)
    assert offsets[1] - offsets[0] == 1 << 26
    assert first_offset(0, "query") != first_offset(0, "another")
    assert first_offset((1 << 24) - 1, "query") < 1 << 63


def test_a_database_has_each_row_once_when_a_batch_is_repeated(tmp_path: Path) -> None:
    database = tmp_path / "db"
    for _ in range(2):
        write(
            NUMBERS, "JdbcSink", connection_url=f"jdbc:sqlite:{database}", topics="numbers", auto_create="true",
            insert_mode="upsert", pk_mode="kafka",
        )  # fmt: skip
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT count(*), sum(n) FROM numbers").fetchone() == (3, 6)


def test_tasks_take_the_configurations_of_the_connector_in_turn() -> None:
    plan = SinkPlan.of(SparkOptions.of({"connector.class": "tests.RowsConnector", "tasks.max": "2"}))
    assert len(plan.tasks) == 2
    assert PlannedTask(1, plan.tasks[1]).config["topics"] == "spark"


def test_all_rows_of_a_spark_task_are_written() -> None:
    plan = SinkPlan.of(SparkOptions.of({"connector.class": "tests.RowsConnector"}))
    empty = NUMBERS.slice(0, 0).to_batches()
    assert plan.write(iter([*empty, *NUMBERS.to_batches(max_chunksize=2)]), 0, 0).rows == 3
    assert [record.value["n"] for record in RowsTask.got] == [1, 2, 3]
    RowsTask.calls.clear()
    assert plan.write(iter(empty), 0, 0).rows == 0
    assert RowsTask.calls == []
