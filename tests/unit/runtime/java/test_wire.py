"""Values and columns survive the format of the link: what is written is read again."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.columns import ConstantColumn, ValueBatch
from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import DataError
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.writer import FrameWriter

_UTC = dt.UTC
_INNER = struct_schema({"s": OPTIONAL_STRING_SCHEMA, "d": DATE_SCHEMA})
_MAP = Schema(Type.MAP, keys=STRING_SCHEMA, values=INT32_SCHEMA)


def _opened(writer: FrameWriter, schemas: SchemaReader) -> FrameReader:
    frame = FrameReader(writer.frame()[4:], schemas)
    schemas.read(frame)
    return frame


def _back(values: list[Any], schema: Schema | None = None) -> list[Any]:
    writer = FrameWriter()
    writer.column(values, schema)
    return list(_opened(writer, SchemaReader()).column(len(values), schema))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None, None],
        ["a", "ä𝄞", ""],
        ["a", None, "b"],
        [1, -(1 << 63), (1 << 63) - 1],
        [1 << 63, 1 << 200, -(1 << 70)],
        [1.5, float("inf")],
        [True, False],
        [b"", b"\x00\xff"],
        [[], [1, "x", None], [[2]]],
        [{}, {"a": 1}],
        [{"a": 1, "b": None}, {"a": "x", "b": [1]}],
        [{1: 2}],
        [1, "x", 2.5, True, None, b"y", {"k": 1}],
        [Decimal("1.50"), Decimal("-3")],
        [dt.datetime(2020, 1, 2, 3, 4, 5, 678000, _UTC)],
    ],
)
def test_values_without_a_schema(values: list[Any]) -> None:
    back = _back(values)
    assert back == values
    assert list(map(type, back)) == list(map(type, values))


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (INT8_SCHEMA, [-128, 127]),
        (FLOAT32_SCHEMA, [0.5, -2.0]),
        (decimal_schema(2), [Decimal("1.50"), Decimal("-0.01"), Decimal(10) ** 30 * Decimal("1.00")]),
        (DATE_SCHEMA, [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
        (TIME_SCHEMA, [dt.time(23, 59, 59, 999000)]),
        (TIMESTAMP_SCHEMA, [dt.datetime(1969, 12, 31, 23, 59, 59, 999000, _UTC)]),
        (Schema(Type.ARRAY, values=DATE_SCHEMA), [[], [dt.date(2020, 1, 1)]]),
        (_MAP, [{}, {"a": 1, "b": 2}, {"c": 3}]),
        (_INNER, [{"s": "x", "d": dt.date(2020, 1, 1)}, {"s": None, "d": dt.date(2020, 1, 2)}]),
        (Schema(Type.STRUCT, optional=True, fields=_INNER.fields), [None, {"s": "y", "d": dt.date(2020, 1, 1)}]),
    ],
)
def test_values_with_a_schema(schema: Schema, values: list[Any]) -> None:
    assert _back(values, schema) == values


def test_a_schema_is_defined_once_and_stays_the_same_object() -> None:
    inner = _INNER.replace(
        name="inner", version=3, doc="text", parameters=(("k", "v"),), default={"s": "x", "d": dt.date(2020, 1, 1)}
    )
    schema = struct_schema({"inner": inner, "numbers": _MAP.replace(default={"a": 1})})
    writer, schemas = FrameWriter(), SchemaReader()
    writer.schema(schema)
    first = _opened(writer, schemas).schema()
    writer.schema(struct_schema({field.name: field.schema for field in schema.fields}))  # equal, another object
    assert _opened(writer, schemas).schema() is first
    assert first is not None
    assert first.replace(fields=()) == schema.replace(fields=())
    assert [field.name for field in first.fields] == ["inner", "numbers"]
    assert first.fields[1] == schema.fields[1]
    assert first.fields[0].schema.parameters == inner.parameters


def test_structs_remain_columns() -> None:
    columns = {"s": ["a", "b"], "d": ConstantColumn(dt.date(2020, 1, 1), 2)}
    writer, schemas = FrameWriter(), SchemaReader()
    writer.batch(ValueBatch.struct(_INNER, columns, 2))
    read = _opened(writer, schemas).batch(2, _INNER)
    assert {name: list(column) for name, column in read.columns.items()} == {n: list(c) for n, c in columns.items()}


def test_a_value_that_does_not_match_its_schema_leaves_the_link_usable() -> None:
    writer, schemas = FrameWriter(), SchemaReader()
    with pytest.raises(DataError, match="INT32"):
        writer.column(["x"], INT32_SCHEMA)
    writer.abandon()
    writer.value("next")
    assert _opened(writer, schemas).value() == "next"


def test_bytes_that_were_not_utf_8_arrive_as_java_reads_them() -> None:
    assert _back([b"a\xffb".decode("utf-8", "surrogateescape")]) == ["a\ufffdb"]
