"""Columns of Arrow are read, changed and written as lists are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from runtime.api.converter import Converter
from runtime.api.data.arrow_column import ArrowColumn, arrow_array, arrow_columns
from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import Column, ValueBatch
from runtime.api.data.schema import FLOAT64_SCHEMA, INT32_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.plugins.registry import load
from tests.support.tasks.transforms import transformation

TYPES = {"i": pa.int32(), "s": pa.string(), "d": pa.float64(), "n": pa.string()}
VALUES: dict[str, list[Any]] = {"i": [1, -2, 3], "s": ["a", "ü", "😀"], "d": [0.5, 1e300, -0.0], "n": ["x", None, ""]}
SCHEMA = Schema(
    Type.STRUCT,
    name="Row",
    fields=(
        Field("i", INT32_SCHEMA), Field("s", STRING_SCHEMA), Field("d", FLOAT64_SCHEMA),
        Field("n", STRING_SCHEMA.replace(optional=True)),
    ),
)  # fmt: skip


def arrow() -> dict[str, Column]:
    return {name: ArrowColumn(pa.array(values, TYPES[name])) for name, values in VALUES.items()}


def batch(columns: dict[str, Column]) -> SourceBatch:
    return SourceBatch({}, lambda n: {}, "t", ValueBatch.struct(SCHEMA, columns, 3))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("Cast$Value", {"spec": "i:string,d:int64"}),
        ("ExtractField$Value", {"field": "i"}),
        ("Flatten$Value", {}),
        ("HoistField$Value", {"field": "row"}),
        ("InsertField$Value", {"topic.field": "topic", "static.field": "x", "static.value": "y"}),
        ("MaskField$Value", {"fields": "s,n"}),
        ("ReplaceField$Value", {"renames": "i:j", "exclude": "d"}),
        ("ValueToKey", {"fields": "i,s"}),
        ("HeaderFrom$Value", {"fields": "s", "headers": "h", "operation": "copy"}),
        ("TimestampConverter$Value", {"field": "i", "target.type": "string", "format": "yyyy"}),
        ("SetSchemaMetadata$Value", {"schema.name": "Other"}),
    ],
)
def test_a_transformation_gives_the_same(name: str, config: dict[str, str]) -> None:
    def transformed(columns: dict[str, Column]) -> Any:
        records = batch(columns)
        values = transformation(name, config).apply_batch(records.values, records)
        if values is None:
            return None
        records.values = values
        return [(r.value, r.value_schema, r.key, r.key_schema, r.headers) for r in records]

    assert transformed(arrow()) == transformed(dict(VALUES))


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "true"}),
        ("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"}),
        ("org.apache.kafka.connect.storage.StringConverter", {}),
    ],
)
def test_a_converter_writes_the_same(name: str, config: dict[str, str]) -> None:
    converter: Converter = load("converter", name)()
    converter.configure(config, False)
    written = converter.from_connect_batch("t", ValueBatch.struct(SCHEMA, arrow(), 3))
    assert written is not None
    assert written == converter.from_connect_batch("t", ValueBatch.struct(SCHEMA, VALUES, 3))


def test_values_are_converted_once_and_nulls_are_left() -> None:
    calls: list[Any] = []

    def convert(value: Any) -> Any:
        calls.append(value)
        return json.loads(value)

    column = ArrowColumn(pa.array(["1", None, "[2]"]), convert)
    assert (list(column), column[2], len(column), column[1:]) == ([1, None, [2]], [2], 3, [None, [2]])
    assert calls == ["1", "[2]"]
    assert not column.is_of(pa.string())


def test_an_array_is_used_again_if_it_has_the_type() -> None:
    column = ArrowColumn(pa.array([1, 2], pa.int32()))
    assert arrow_array(column, pa.int32()) is column.array
    assert arrow_array(column, pa.int64()) == pa.array([1, 2], pa.int64())


class PanicException(BaseException):
    """As libraries in Rust raise."""


@pytest.mark.parametrize("error", [PanicException("index out of bounds"), ValueError("index out of bounds")])
def test_an_error_of_a_native_reader_is_a_value_error(error: BaseException) -> None:
    def fail() -> Any:
        raise error

    read: Callable[[], Any] = fail
    with pytest.raises(ValueError, match="index out of bounds"):
        arrow_columns(read, {})
