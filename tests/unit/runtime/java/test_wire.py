"""Values and columns survive the format of the link: what is written is read again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import ConstantColumn, ValueBatch
from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.record import SinkRecord
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
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.java.wire import reader, tags
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.records import RecordColumns, write_sink
from runtime.java.wire.writer import FrameWriter
from runtime.pipeline.load import Converters
from runtime.pipeline.sink.sink_batches import SinkBatches, in_order
from runtime.pipeline.task.meter import Meter
from runtime.pipeline.tolerance import Fallbacks
from tests.support.tasks.python_messages import Message

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


def test_a_value_that_is_not_a_struct_is_named_as_such() -> None:
    with pytest.raises(DataError, match="does not match its schema"):
        FrameWriter().batch(ValueBatch(_INNER, ["x"]))


_TEXTS = [b"plain", b"two\nlines", b"", b"\xc3\xa4", b"a\xffb", b"\xed\xa0\x80", b"ends early \xe2\x82"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[SinkRecord]], RecordColumns]:
    """Sends records to a sink. Texts are read as bytes: Java replaces those that are not valid UTF-8."""
    monkeypatch.setitem(reader._READERS, tags.STRING, FrameReader._binaries)

    def send(records: Sequence[SinkRecord]) -> RecordColumns:
        writer = FrameWriter()
        write_sink(writer, records)
        frame = _opened(writer, SchemaReader())
        assert (frame.i32(), frame.i32()) == (1, len(records))
        return RecordColumns(frame)

    return send


def _batches(texts: Sequence[bytes | None]) -> list[SinkBatch]:
    strings = StringConverter()
    converters = Converters(strings, strings, SimpleHeaderConverter())
    found = SinkBatches(converters, False, Fallbacks(Meter()), 1).of([Message(n, t, t) for n, t in enumerate(texts)])
    assert found is not None
    return found


def test_texts_reach_a_java_sink_with_the_bytes_of_their_messages(
    sent: Callable[[Sequence[SinkRecord]], RecordColumns],
) -> None:
    (batch,) = _batches(_TEXTS)
    for records in (batch, batch.records):  # not decoded, and as a step of the chain has left them
        found = sent(records)
        assert found.values.schema == OPTIONAL_STRING_SCHEMA
        assert list(found.keys.rows) == list(found.values.rows) == _TEXTS
    assert [record.value for record in batch][1:5] == ["two\nlines", "", "ä", "a\udcffb"]


def test_texts_and_nulls_reach_a_java_sink_in_their_order(
    sent: Callable[[Sequence[SinkRecord]], RecordColumns],
) -> None:
    texts = [b"a\xff", None, b"b\n", None]
    found = sent(in_order(_batches(texts)))
    assert list(found.keys.rows) == list(found.values.rows) == texts
    assert list(sent(_batches([None, None])[0]).values.rows) == [None, None]


def test_half_of_a_surrogate_pair_is_a_question_mark_as_in_java() -> None:
    assert _back(["a\ud800b"]) == ["a?b"]
