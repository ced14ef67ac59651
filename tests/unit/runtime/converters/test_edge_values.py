"""Edge values of converters: no Python exception escapes, and caches distinguish the values."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import STRING_SCHEMA, Schema, Type
from runtime.api.errors import ConnectError, DataError
from runtime.api.literals.literals import header_text, parse_literal
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from tests.support.tasks.json_converter import json_converter


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [250, 300, 900, 1000])
def test_deeply_nested_json_is_read_and_written(depth: int) -> None:
    text = b"[" * depth + b"1" + b"]" * depth
    assert json_converter(False).from_connect("t", None, _nested(depth)) == text
    assert json_converter(False).from_connect_batch("t", ValueBatch(None, [_nested(depth)] * 2)) in (None, [text, text])
    _, value = json_converter(False).to_connect("t", text)
    assert json_converter(False).from_connect("t", None, value) == text


def test_nesting_beyond_the_limit_is_refused() -> None:
    with pytest.raises(DataError):
        json_converter(False).from_connect("t", None, _nested(1001))


@pytest.mark.parametrize(
    ("value", "text"), [(2**64, b"18446744073709551616"), ([-(2**70)], b"[-1180591620717411303424]")]
)
def test_integers_of_any_size_are_written(value: Any, text: bytes) -> None:
    assert json_converter(False).from_connect("t", None, value) == text


def test_defaults_zero_and_minus_zero_have_separate_cache_entries() -> None:
    converter = json_converter()
    plus, minus = (Schema(Type.FLOAT64, default=zero) for zero in (0.0, -0.0))
    assert plus != minus and Schema(Type.FLOAT64, default=0.0) == plus
    written = [converter.from_connect("t", schema, None) for schema in (plus, minus, plus)]
    assert [b"-0.0" in (data or b"") for data in written] == [False, True, False]


@pytest.mark.parametrize("text", ["0000-00-00", "99999-01-01", "24:00:00.000Z", "[" * 5000, "{" * 5000, "1e9999999999"])
def test_headers_without_a_value_in_python_are_strings(text: str) -> None:
    assert SimpleHeaderConverter().to_connect_header("t", "h", text.encode()) == (STRING_SCHEMA, text)


def test_maps_of_literals_keep_their_order() -> None:
    text = '{"b":1,"a":2,"aa":3}'
    schema, value = parse_literal(text)
    assert header_text(value, schema) == text


def test_keys_are_in_the_order_of_a_hash_map() -> None:
    """The bytes of keys determine the partition; batches and single records give the same bytes."""
    key = {"b": 1, "a": {"d": 1, "c": [{"b": 1, "aa": 2}]}, "aa": 3}
    expected = b'{"aa":3,"a":{"c":[{"aa":2,"b":1}],"d":1},"b":1}'
    converter = json_converter(False, True)
    assert converter.from_connect("t", None, key) == expected
    assert converter.from_connect_batch("t", ValueBatch(None, [key, {**key}])) == [expected] * 2


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32", "US-ASCII", "ISO-8859-1", "windows-1252", "UTF-8"])
@pytest.mark.parametrize("text", ["", "\ud800", "\udc80", "ж\U0001f600"])
def test_every_text_is_written_in_every_encoding(encoding: str, text: str) -> None:
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding}, False)
    data = converter.from_connect("t", None, text)
    assert data is not None
    converter.to_connect("t", data + b"\xff")


@pytest.mark.parametrize("name", ["", "no-such", "hex", "rot13", "a b", "\0"])
def test_unknown_encodings_are_refused(name: str) -> None:
    with pytest.raises(ConnectError, match="Unsupported encoding"):
        StringConverter().configure({"converter.encoding": name}, False)
