"""FilesSink: the types of values in files of each format."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    BYTES_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import DataError
from tests.support.tasks.files_sink import SinkDriver, files, records
from tests.support.tasks.files_source import SourceDriver
from tests.support.tasks.task_contexts import DeadLetterList
from tests.unit.runtime.connectors.files.sink.test_files_sink_task import JSON, name

LOGICAL = struct_schema(
    {
        "price": decimal_schema(2),
        "day": DATE_SCHEMA,
        "time": TIME_SCHEMA,
        "at": TIMESTAMP_SCHEMA,
        "id": INT32_SCHEMA,
        "raw": BYTES_SCHEMA,
        "note": OPTIONAL_STRING_SCHEMA,
        "tags": Schema(Type.ARRAY, values=STRING_SCHEMA),
        "counts": Schema(Type.MAP, keys=STRING_SCHEMA, values=INT64_SCHEMA),
        "shop": struct_schema({"name": STRING_SCHEMA}),
    }
)


ROW = {
    "price": Decimal("12.50"),
    "day": dt.date(2024, 2, 29),
    "time": dt.time(12, 30, 1, 5000),
    "at": dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC),
    "id": 7,
    "raw": b"\x00\xff",
    "note": None,
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "shop": {"name": "Tokyo"},
}


def test_parquet_has_the_types_of_the_connect_schema(tmp_path: Path) -> None:
    from pyarrow import parquet

    sink = SinkDriver(tmp_path, {"flush.size": "2"})
    sink.put(records([ROW, ROW], schema=LOGICAL))
    sink.commit_until(2)
    sink.stop()
    table = parquet.read_table(next(tmp_path.rglob("*.parquet")))
    types = {field.name: str(field.type) for field in table.schema}
    assert types["price"] == "decimal128(38, 2)" and types["day"] == "date32[day]"
    assert types["time"] == "time32[ms]" and types["at"] == "timestamp[ms, tz=UTC]" and types["id"] == "int32"
    assert [field.name for field in table.schema if field.nullable] == ["note"]
    assert table.to_pylist(maps_as_pydicts="strict") == [ROW, ROW]


def test_avro_has_the_types_of_the_connect_schema(tmp_path: Path) -> None:
    import fastavro

    sink = SinkDriver(tmp_path, {"flush.size": "1", "format": "avro"})
    sink.put(records([ROW], schema=LOGICAL))
    sink.commit_until(1)
    sink.stop()
    with next(tmp_path.rglob("*.avro")).open("rb") as file:
        assert list(fastavro.reader(file)) == [ROW]


@pytest.mark.parametrize(("values", "lines"), [([1, None, 2], ['"1"', '""', '"2"']), ([None, "x"], ['""', '"x"'])])
def test_csv_with_one_column_has_no_empty_lines(tmp_path: Path, values: list[Any], lines: list[str]) -> None:
    sink = SinkDriver(tmp_path, {"flush.size": str(len(values)), "format": "csv"})
    sink.put(records([{"n": value} for value in values]))
    sink.commit_until(len(values))
    sink.stop()
    assert next(tmp_path.rglob("*.csv")).read_text().splitlines() == ['"n"', *lines]


@pytest.mark.parametrize("file_format", ["json", "csv"])
@pytest.mark.parametrize(
    ("key", "text"), [(b"\x00", "AA=="), (Decimal("1.20"), "1.20"), (dt.date(2024, 1, 2), "2024-01-02"), (5, "5")]
)
def test_keys_of_maps_and_nested_bytes_are_texts_of_json(tmp_path: Path, file_format: str, key: Any, text: str) -> None:
    keys = {bytes: BYTES_SCHEMA, Decimal: decimal_schema(2), dt.date: DATE_SCHEMA, int: INT64_SCHEMA}[type(key)]
    schema = struct_schema({"m": Schema(Type.MAP, keys=keys, values=BYTES_SCHEMA), "n": INT64_SCHEMA})
    sink = SinkDriver(tmp_path, {"flush.size": "1", "format": file_format})
    sink.put(records([{"m": {key: b"\x01"}, "n": 1}], schema=schema))
    sink.commit_until(1)
    sink.stop()
    (row,) = SourceDriver(tmp_path).drain()
    assert (json.loads(row["m"]) if file_format == "csv" else row["m"]) == {text: "AQ=="}


def test_a_value_that_is_nested_too_deeply_for_json_is_refused(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {"flush.size": "2", "format": "json"}, letters)
    sink.put(records([{"n": 1}, {"n": deep}, {"n": 2}]))
    sink.commit_until(3)
    sink.stop()
    assert files(tmp_path) == {name(0, ".json"): [{"n": 1}, {"n": 2}]}
    assert [record.kafka_offset for record, _ in letters.reported] == [1]


def test_csv_has_nested_values_as_json(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {"flush.size": "1", "format": "csv", "compression": "gzip"})
    sink.put(records([ROW], schema=LOGICAL))
    sink.commit_until(1)
    sink.stop()
    header, line = gzip.decompress(next(tmp_path.rglob("*.csv.gz")).read_bytes()).decode().splitlines()
    assert header == '"price","day","time","at","id","raw","note","tags","counts","shop"'
    assert line.startswith('"12.50",2024-02-29,12:30:01.005,2024-02-29 12:30:00.000Z,7,"AP8=",,"[""a"",""b""]"')


def test_json_writes_logical_types_as_text(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "1"})
    sink.put(records([ROW], schema=LOGICAL))
    sink.commit_until(1)
    sink.stop()
    row = files(tmp_path)[name(0)][0]
    assert (row["price"], row["day"], row["at"], row["raw"]) == ("12.50", "2024-02-29", "2024-02-29T12:30:00Z", "AP8=")


def test_new_fields_are_merged_and_other_types_start_a_file(tmp_path: Path) -> None:
    values = [{"a": 1}, {"a": 2.5, "b": "x"}, {"a": None}, {"a": "text"}, {"a": "more"}]
    sink = SinkDriver(tmp_path, {"flush.size": "5"})
    sink.put(records(values))
    sink.commit_until(3)
    sink.put(records([{"a": "x"}] * 3, 5))
    sink.commit_until(8)
    sink.stop()
    found = files(tmp_path)
    assert found[name(0, ".parquet")] == [{"a": 1.0, "b": None}, {"a": 2.5, "b": "x"}, {"a": None, "b": None}]
    assert len(found[name(3, ".parquet")]) == 5


def test_without_merging_each_connect_schema_has_its_own_files(tmp_path: Path) -> None:
    wide = struct_schema({"a": INT64_SCHEMA, "b": OPTIONAL_STRING_SCHEMA})
    sink = SinkDriver(tmp_path, {"schema.compatibility": "none"})
    narrow = struct_schema({"a": INT64_SCHEMA})
    sink.put([*records([{"a": 1}] * 2, schema=narrow), *records([{"a": 1, "b": "x"}], 2, wide)])
    sink.put(records([{"a": 3}], 3, narrow))
    sink.commit_until(3)
    sink.stop()
    assert list(files(tmp_path)) == [name(0, ".parquet"), name(2, ".parquet")]


def test_a_record_that_cannot_be_stored_is_reported(tmp_path: Path) -> None:
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {"flush.size": "4"}, letters)
    sink.put(records([{"a": 1}, {"a": [1, "x"]}, {"a": 1 << 70}, {"a": 2}, {"a": 3}, {"a": 4}]))
    sink.commit_until(6)
    sink.stop()
    assert [record.kafka_offset for record, _ in letters.reported] == [1, 2]
    assert "orders-0 at offset 1" in str(letters.reported[0][1])
    assert files(tmp_path)[name(0, ".parquet")] == [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]


def test_a_name_that_avro_does_not_have_is_the_fault_of_its_record(tmp_path: Path) -> None:
    import fastavro

    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {"flush.size": "2", "format": "avro"}, letters)
    same: dict[str, Any] = {"a": {"b": {"x": 1}}, "a_b": {"y": 1}}
    sink.put(records([{"a b": 1}, same, same]))
    sink.commit_until(3)
    sink.stop()
    assert [record.kafka_offset for record, _ in letters.reported] == [0]
    with next(tmp_path.rglob("*.avro")).open("rb") as file:
        assert list(fastavro.reader(file)) == [same, same]


def test_a_record_that_cannot_be_stored_fails_the_task_without_a_reporter(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {})
    with pytest.raises(DataError, match="orders-0 at offset 1 cannot be stored as parquet"):
        sink.put(records([{"a": 1}, {"a": [1, "x"]}]))
    sink.stop()


def test_null_values_are_ignored_or_fail(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "2"})
    sink.put(records([None, {"n": 1}, None, {"n": 3}]))
    sink.commit_until(4)
    sink.stop()
    assert files(tmp_path) == {name(1): [{"n": 1}, {"n": 3}]}
    strict = SinkDriver(tmp_path, {**JSON, "behavior.on.null.values": "fail"})
    with pytest.raises(DataError, match="null"):
        strict.put(records([None]))
    strict.stop()


def test_plain_values_are_stored_in_a_field(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {"flush.size": "2"})
    sink.put(records(["a", "b"], schema=STRING_SCHEMA))
    sink.commit_until(2)
    sink.stop()
    assert files(tmp_path) == {name(0, ".parquet"): [{"value": "a"}, {"value": "b"}]}
