"""DataSourceSink: streaming writers as a sink."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.logical import TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema
from runtime.api.data.schema_builder import SchemaBuilder
from runtime.api.errors import ConfigError, ConnectError, DataError
from runtime.connectors.data_source.sink import DataSourceSinkConnector
from runtime.connectors.data_source.sink_task import DataSourceSinkTask
from tests.support.data_sources import row_files
from tests.support.tasks.task_contexts import DeadLetterList, TaskSinkContext

ROW_FILES = "tests.support.data_sources.RowFiles"
NUMBER = SchemaBuilder.struct().field("n", INT64_SCHEMA).field("text", OPTIONAL_STRING_SCHEMA).build()
TP = TopicPartition("t", 0)


def writing(folder: Path, letters: DeadLetterList | None = None, /, **config: str) -> DataSourceSinkTask:
    task = DataSourceSinkTask()
    task.context = TaskSinkContext(letters).as_context()
    common = {"data.source": ROW_FILES, "data.source.option.path": str(folder), "data.source.batch.records": "10"}
    task.start(common | {key.replace("_", "."): value for key, value in config.items()})
    return task


def records(*values: Any, schema: Schema | None = NUMBER, first: int = 0) -> list[SinkRecord]:
    return [SinkRecord("t", 0, None, None, schema, value, n) for n, value in enumerate(values, first)]


def numbers(start: int, end: int) -> list[SinkRecord]:
    return records(*({"n": n, "text": None} for n in range(start, end)), first=start)


def test_rows_become_visible_when_offsets_are_committed(tmp_path: Path) -> None:
    task = writing(tmp_path)
    task.put(numbers(0, 25))
    assert row_files(tmp_path) == [] and len(list(tmp_path.glob(".*"))) == 2
    task.flush({TP: 25})
    assert [row["n"] for row in row_files(tmp_path)] == list(range(25))
    task.flush({TP: 25})
    task.put(numbers(25, 30))
    task.flush({TP: 30})
    assert {file.name.split("-")[1] for file in tmp_path.glob("batch-*")} == {"25", "30"}
    task.stop()


def test_batches_that_were_not_committed_are_aborted(tmp_path: Path) -> None:
    task = writing(tmp_path)
    task.put(numbers(0, 25))
    task.close([TP])
    task.stop()
    assert list(tmp_path.iterdir()) == []
    task = writing(tmp_path)
    task.put(numbers(0, 10))
    with pytest.raises(ConnectError, match=r"write\(\) failed: ValueError: a negative number"):
        task.put(records(*[{"n": -1, "text": None}] * 10, first=10))
    assert list(tmp_path.iterdir()) == [], "the written part of the batch, too"


def test_a_failed_commit_is_reported_and_the_rows_are_delivered_again(tmp_path: Path) -> None:
    task = writing(tmp_path)
    task.put(numbers(0, 10))
    (hidden,) = tmp_path.iterdir()
    hidden.unlink()
    with pytest.raises(ConnectError, match=r"commit\(\) failed: FileNotFoundError"):
        task.flush({TP: 10})
    task.put(numbers(0, 10))
    task.flush({TP: 10})
    assert [row["n"] for row in row_files(tmp_path)] == list(range(10))


def test_types_and_changed_schemas(tmp_path: Path) -> None:
    wide = (
        SchemaBuilder.struct().field("at", TIMESTAMP_SCHEMA).field("price", decimal_schema(2))
        .field("tags", SchemaBuilder.array(STRING_SCHEMA).build()).field("inner", NUMBER).build()
    )  # fmt: skip
    task = writing(tmp_path)
    at = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    value = {"at": at, "price": Decimal("1.50"), "tags": ["a"], "inner": {"n": 1, "text": "x"}}
    task.put(numbers(0, 3) + records(value, schema=wide, first=3) + records("plain", schema=STRING_SCHEMA, first=4))
    task.flush({TP: 5})
    rows = row_files(tmp_path)
    local = at.astimezone().replace(tzinfo=None)
    assert {"at": str(local), "price": "1.50", "tags": ["a"], "inner": {"n": 1, "text": "x"}} in rows
    assert {"value": "plain"} in rows and len(rows) == 5


def test_values_without_a_schema_need_one_in_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"set data\.source\.schema"):
        writing(tmp_path).put(records({"n": 1}, schema=None))
    letters = DeadLetterList()
    task = writing(tmp_path, letters, data_source_schema="n BIGINT NOT NULL, text STRING")
    task.put(records({"n": 1, "other": 2}, {"n": "x"}, {"text": "n is missing"}, "text", None, {"n": 2}, schema=None))
    task.flush({TP: 6})
    assert row_files(tmp_path) == [{"n": 1, "text": None}, {"n": 2, "text": None}]
    assert [record.kafka_offset for record, _ in letters.reported] == [1, 2, 3, 4]


def test_a_writer_of_arrow_batches(tmp_path: Path) -> None:
    task = writing(tmp_path, None, data_source="tests.support.data_sources.ArrowRowFiles")
    task.put(numbers(0, 15))
    task.flush({TP: 15})
    assert row_files(tmp_path)[10:12] == [{"n": 10, "text": None}, {"n": 11, "text": None}]


def test_a_type_that_spark_lacks_is_refused(tmp_path: Path) -> None:
    schema = SchemaBuilder.struct().field("at", TIME_SCHEMA).field("n", INT32_SCHEMA).build()
    with pytest.raises(DataError, match="The field at has the type"):
        writing(tmp_path).put(records({"at": dt.time(1), "n": 1}, schema=schema))


def test_the_configuration_is_checked() -> None:
    connector = DataSourceSinkConnector()
    reader = {"data.source": "tests.support.data_sources.Numbers"}
    errors = {value.name: value.errors for value in connector.validate(reader)}
    assert errors["data.source"] == ["Numbers has no streaming writer"]
    with pytest.raises(ConfigError, match="no streaming writer"):
        connector.start(reader)
    assert connector.alter_offsets({}, {TP: 5}) is False
