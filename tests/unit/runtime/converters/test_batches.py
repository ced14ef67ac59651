"""Batch methods of converters give the same results as conversion one by one."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.converter import Converter
from runtime.api.data.columns import ConstantColumn, ValueBatch, batch_method
from runtime.api.data.java_text import JavaMap, java_text
from runtime.api.data.java_text_columns import java_texts
from runtime.api.data.schema import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, Field, Schema, Type
from runtime.converters.string import StringConverter
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.schema_strategies import TYPED

LINES = st.text(st.sampled_from('ab\n\r\x7f\x01"\\ü€😀\udc80'), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False) | LINES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
FLAT = Schema(
    Type.STRUCT,
    fields=(
        Field("a", Schema(Type.INT8)), Field("b", OPTIONAL_STRING_SCHEMA),
        Field("c", Schema(Type.BOOLEAN, default=True)),
    ),
)  # fmt: skip


def _written(converter: Converter, values: ValueBatch) -> tuple[Any, Any]:
    """The results as a batch and one by one, with exceptions in place of results."""
    return (
        _caught(lambda: converter.from_connect_batch("t", values)),
        _caught(lambda: [converter.from_connect("t", values.schema, value) for value in values.rows]),
    )


def _caught(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def _agrees(batch_method: Any, single: Any) -> None:
    if isinstance(single, Exception):
        assert batch_method is None or isinstance(batch_method, Exception)
    elif batch_method is not None and not isinstance(batch_method, Exception):
        assert list(batch_method) == single


def _spelled(value: Any) -> Any:
    """A text for comparisons that distinguish 1 from 1.0, and -0.0 from 0.0."""
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    return [_spelled(item) for item in value] if isinstance(value, list) else (type(value), repr(value))


def _read_alike(converter: Converter, data: list[bytes]) -> None:
    single = _caught(lambda: [converter.to_connect("t", one) for one in data])
    found = _caught(lambda: converter.to_connect_batch("t", data))
    if isinstance(single, Exception):
        assert found is None or isinstance(found, Exception)
    elif isinstance(found, ValueBatch):
        assert [schema for schema, _ in single] == [found.schema] * len(data)
        assert [_spelled(value) for _, value in single] == [_spelled(value) for value in found.rows]


@settings(max_examples=300)
@given(st.data(), st.sampled_from(("true", "false")), st.sampled_from(("BASE64", "NUMERIC")), st.booleans())
def test_json_with_any_schema(data: st.DataObject, flag: str, decimals: str, envelopes: bool) -> None:
    schema, strategy = data.draw(TYPED)
    config = {"replace_null_with_default": flag, "decimal_format": decimals}
    rows = data.draw(st.lists(st.none() | strategy if data.draw(st.booleans()) else strategy, min_size=1, max_size=6))
    found, single = _written(json_converter(envelopes, **config), ValueBatch(schema, rows))
    _agrees(found, single)
    if not isinstance(single, Exception):
        _read_alike(json_converter(envelopes, **config), single)


@settings(max_examples=300)
@given(st.lists(JSON, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_json_with_payloads_of_any_kind(payloads: list[Any], structs: bool, fill: bool) -> None:
    if structs:
        payloads = [{"a": 1, "b": payload, "c": True} for payload in payloads]
    schema = {"type": "struct", "fields": [
        {"type": "int8", "field": "a"}, {"type": "string", "optional": True, "field": "b"},
        {"type": "boolean", "default": True, "field": "c"},
    ]}  # fmt: skip
    data = [b'{"schema":%b,"payload":%b}' % (orjson.dumps(schema), _text(payload)) for payload in payloads]
    _read_alike(json_converter(replace_null_with_default=str(fill).lower()), data)


def _text(payload: Any) -> bytes:
    import json

    return json.dumps(payload).encode()


@settings(max_examples=200)
@given(st.lists(JSON, min_size=1, max_size=5), st.booleans())
def test_json_without_schemas(values: list[Any], envelopes: bool) -> None:
    converter = json_converter(envelopes)
    _agrees(*_written(converter, ValueBatch(None, values)))
    _read_alike(converter, [_text(value) for value in values])


@pytest.mark.parametrize(
    "broken",
    [b'{"schema":%b,"payload":1]', b'{"schema":%b,"payload":1} ', b'{"schema":%b,"payload":1}}', b'{"schema":%b}',
     b'{"schema":%b,"payload":}', b'{"schema":%b,"payload":1,"more":2}', b"", b"{}", b'{"schema":null,"payload":1}'],
)  # fmt: skip
@pytest.mark.parametrize("first", [True, False])
def test_a_batch_with_one_different_message(broken: bytes, first: bool) -> None:
    schema = b'{"type":"int32","optional":false}'
    good = b'{"schema":%b,"payload":7}' % schema
    odd = broken % schema if b"%b" in broken else broken
    _read_alike(json_converter(), [odd, good, good] if first else [good, good, odd])


def test_messages_of_one_schema_are_read_as_a_batch() -> None:
    converter = json_converter()
    rows = [{"a": n, "b": f"text {n}", "c": n % 2 == 0} for n in range(5)]
    data = converter.from_connect_batch("t", ValueBatch(FLAT, rows))
    assert data is not None
    found = converter.to_connect_batch("t", [one for one in data if one is not None])
    assert found is not None and found.rows == rows
    with_constant = ValueBatch.struct(FLAT, {**found.columns, "b": ConstantColumn("x", 5)}, 5)
    assert converter.from_connect_batch("t", with_constant) == [
        converter.from_connect("t", FLAT, {**row, "b": "x"}) for row in rows
    ]


@settings(max_examples=200)
@given(st.lists(st.none() | LINES, min_size=1, max_size=6), st.sampled_from(("utf-8", "latin-1", "utf-16")))
def test_batches_of_strings(lines: list[str | None], encoding: str) -> None:
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding}, False)
    found, single = _written(converter, ValueBatch(OPTIONAL_STRING_SCHEMA, lines))
    _agrees(found, single)
    if not isinstance(single, Exception) and None not in single:
        _read_alike(converter, single)


@settings(max_examples=300)
@given(st.data())
def test_java_text_of_a_batch_equals_that_of_each_value(data: st.DataObject) -> None:
    schema, strategy = data.draw(TYPED)
    values = ValueBatch(schema, data.draw(st.lists(st.none() | strategy, max_size=5)))
    assert list(java_texts(values)) == [java_text(value, schema) for value in values.rows]


def test_java_text_of_a_batch_of_structs() -> None:
    rows = [{"a": 1, "b": None, "c": True}, {"a": 2, "b": "x", "c": False}]
    assert java_texts(ValueBatch(FLAT, rows)) == ["Struct{a=1,c=true}", "Struct{a=2,b=x,c=false}"]
    constant = ValueBatch.struct(FLAT, {"a": ConstantColumn(1, 2), "b": ["x", "y"], "c": ConstantColumn(True, 2)}, 2)
    assert java_texts(constant) == ["Struct{a=1,b=x,c=true}", "Struct{a=1,b=y,c=true}"]
    assert (
        java_texts(ValueBatch.struct(FLAT, dict.fromkeys("abc", ConstantColumn(1, 2)), 2))
        == ["Struct{a=1,b=1,c=1}"] * 2
    )
    assert java_texts(ValueBatch(None, [JavaMap.copy_of({"a": 1}), None])) == ["{a=1}", "null"]


def test_an_overridden_method_disables_the_inherited_batch_method() -> None:
    class Loud(StringConverter):
        def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
            return INT32_SCHEMA, 7

    assert batch_method(Loud(), "to_connect", "to_connect_batch") is None
    assert batch_method(Loud(), "from_connect", "from_connect_batch") is not None
