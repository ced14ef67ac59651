"""Values, headers and schemas that cross to the JVM of Java plugins and back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import (
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import DataError
from runtime.converters.json.json import JsonConverter
from runtime.java.host.host import JavaClass
from runtime.java.plugins.converters import JavaConverter, JavaHeaderConverter
from runtime.java.plugins.steps import JavaTransformation
from tests.scenario.plugins.test_java_host import _KAFKA
from tests.support.java.host import shared_host


def test_values_of_all_types_cross_to_java_and_back() -> None:
    schema = struct_schema(
        {
            "text": STRING_SCHEMA,
            "number": INT32_SCHEMA.replace(default=7, doc="a number"),
            "float": FLOAT64_SCHEMA,
            "bytes": OPTIONAL_BYTES_SCHEMA,
            "amount": decimal_schema(2),
            "day": DATE_SCHEMA,
            "time": TIME_SCHEMA,
            "at": TIMESTAMP_SCHEMA,
            "list": Schema(Type.ARRAY, values=struct_schema({"x": INT32_SCHEMA})),
            "map": Schema(Type.MAP, keys=STRING_SCHEMA, values=INT32_SCHEMA),
        }
    ).replace(name="all.Types", version=2)
    value = {
        "text": "ä𝄞",
        "number": -1,
        "float": 0.1,
        "bytes": None,
        "amount": Decimal("-12.30"),
        "day": dt.date(1969, 12, 31),
        "time": dt.time(23, 59, 59, 999000),
        "at": dt.datetime(2024, 2, 29, 1, 2, 3, 4000, dt.UTC),
        "list": [{"x": 1}, {"x": 2}],
        "map": {"a": 1},
    }
    ours, java = JsonConverter(), JavaConverter(shared_host(), JavaClass(f"{_KAFKA}json.JsonConverter"))
    ours.configure({}, False)
    java.configure({}, False)
    written = java.from_connect("t", schema, value)
    assert written == ours.from_connect("t", schema, value)
    assert java.to_connect("t", written) == (schema, value)
    header = JavaHeaderConverter(shared_host(), JavaClass(f"{_KAFKA}storage.SimpleHeaderConverter"))
    header.configure({})
    assert header.from_connect_header("t", "h", INT32_SCHEMA, 3) == b"3"
    assert header.to_connect_header("t", "h", b"true") == (Schema(Type.BOOLEAN), True)


_TIMES = [dt.time(1, 2, 3), dt.time(0, 0)]


def _with_default(day: dt.date) -> Schema:
    """A struct in a struct, whose default has no value for a field that has one of its own."""
    inner = struct_schema({"day": DATE_SCHEMA, "n": INT32_SCHEMA.replace(default=7)})
    return struct_schema({"s": inner.replace(default={"day": day, "n": None})})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (struct_schema({}), {}),
        (_with_default(dt.date(2020, 1, 1)), {"s": {"day": dt.date(2020, 1, 2), "n": 1}}),
        (Schema(Type.ARRAY, values=TIME_SCHEMA), _TIMES),
        (Schema(Type.MAP, keys=STRING_SCHEMA, values=Schema(Type.ARRAY, values=TIME_SCHEMA)), {"a": _TIMES}),
    ],
)
def test_values_and_headers_with_a_schema_are_the_same_behind_java(schema: Schema, value: Any) -> None:
    step = JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.DropHeaders"))
    step.configure({"headers": "none"})
    records: list[Any] = [
        SourceRecord({}, {}, "t", value, schema, headers=[("h", schema, value)]),
        SinkRecord("t", 3, None, None, schema, value, 9, 5, headers=[("h", schema, value)]),
    ]
    for record in records:
        kept = step.apply(record)
        assert kept is not None
        assert (kept.value_schema, kept.value) == (schema, value)
        assert kept.headers == [("h", schema, value)]
    step.close()


def test_a_schema_that_java_refuses_is_an_error_of_its_records_only() -> None:
    step = JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.DropHeaders"))
    step.configure({"headers": "none"})
    plain = struct_schema({"a": Schema(Type.ARRAY, values=INT32_SCHEMA)})
    refused = plain.replace(default={"a": [None]})
    with pytest.raises(DataError, match="null used for required"):
        step.apply(SourceRecord({}, {}, "t", {"a": [1]}, refused))
    kept = step.apply(SourceRecord({}, {}, "t", {"a": [2]}, plain))
    assert kept is not None and (kept.value, kept.value_schema) == ({"a": [2]}, plain)
    with pytest.raises(DataError, match="null used for required"):
        outer = struct_schema({"inner": refused, "b": STRING_SCHEMA})
        step.apply(SourceRecord({}, {}, "t", {"inner": {"a": [1]}, "b": "x"}, outer))
    other = struct_schema({"c": STRING_SCHEMA})
    kept = step.apply(SourceRecord({}, {}, "t", {"c": "y"}, other))
    assert kept is not None and (kept.value, kept.value_schema) == ({"c": "y"}, other)
    step.close()


def test_a_default_that_is_no_date_in_python_does_not_affect_other_schemas() -> None:
    converter = JavaConverter(shared_host(), JavaClass(f"{_KAFKA}json.JsonConverter"))
    converter.configure({}, False)
    name = '"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1'
    schema, value = converter.to_connect("t", b'{"schema": {%s, "default": 86399999}, "payload": 1}' % name.encode())
    assert (schema, value) == (DATE_SCHEMA, dt.date(1970, 1, 2))
    assert converter.to_connect("t", b'{"schema": {"type": "string"}, "payload": "a"}')[1] == "a"
    converter.close()


def test_a_float_without_a_schema_has_the_digits_of_javas_text() -> None:
    step = JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.Cast$Value"))
    step.configure({"spec": "a:float32"})
    cast = step.apply(SourceRecord({}, {}, "t", {"a": 0.1}))
    assert cast is not None
    assert cast.value == {"a": 0.1}
    step.close()
