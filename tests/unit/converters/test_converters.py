"""Converters there and back, and the texts that Java gives."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from runtime.api.converter import Converter
from runtime.api.data.java_text import java_text
from runtime.api.data.schema import STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import ConfigError, DataError
from runtime.converters.bytes import ByteArrayConverter
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.json.json import JsonConverter
from runtime.converters.numeric import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from runtime.converters.string import StringConverter

LINE = Schema(Type.STRUCT, fields=(Field("line", STRING_SCHEMA), Field("n", Schema(Type.INT32, optional=True))))


def _json(**config: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure(config, False)
    return converter


PLAIN = {"schemas.enable": "false"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (12345678901234, "12345678901234"), (1000.0, "1000.0"), (1e7, "1.0E7"),
        (9999999.0, "9999999.0"), (1e8, "1.0E8"), (0.001, "0.001"), (1.5e-5, "1.5E-5"), (-0.0, "-0.0"), (0.1, "0.1"),
        (123456.789, "123456.789"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (-2.5e300, "-2.5E300"),
        ([1, "a", None], "[1, a, null]"), ({"b": 1, "a": {"c": [1, {"d": None}]}}, "{a={c=[1, {d=null}]}, b=1}"),
        ({"schema": {"type": "string"}, "payload": "p"}, "{schema={type=string}, payload=p}"),
    ],
)  # fmt: skip
def test_java_text(value: Any, text: str) -> None:
    assert java_text(value) == text


def test_java_text_of_typed_values() -> None:
    assert java_text({"line": "a", "n": None}, LINE) == "Struct{line=a}"
    assert java_text(0.1, Schema(Type.FLOAT32)) == "0.1"
    assert java_text(0.10000000149011612, Schema(Type.FLOAT32)) == "0.1"
    assert java_text(16777216.0, Schema(Type.FLOAT32)) == "1.6777216E7"


def test_string() -> None:
    converter = StringConverter()
    converter.configure({}, False)
    assert converter.from_connect("t", STRING_SCHEMA, "gr\udcfcn") == b"gr\xfcn"
    assert converter.to_connect("t", b"gr\xfcn")[1] == "gr\udcfcn"
    assert converter.from_connect("t", LINE, {"line": "a"}) == b"Struct{line=a}"
    assert converter.from_connect("t", None, None) is None
    assert converter.to_connect("t", None)[1] is None
    with pytest.raises(ConfigError, match="Unsupported encoding no-such"):
        converter.configure({"converter.encoding": "no-such"}, False)


@pytest.mark.parametrize(
    ("converter", "value", "data"),
    [
        (ShortConverter(), 258, "0102"), (IntegerConverter(), 258, "00000102"),
        (LongConverter(), -2, "fffffffffffffffe"),
        (FloatConverter(), 1.5, "3fc00000"), (DoubleConverter(), 1.5, "3ff8000000000000"),
        (BooleanConverter(), True, "01"),
        (ByteArrayConverter(), b"\x00\xff", "00ff"),
    ],
)  # fmt: skip
def test_fixed_width(converter: Converter, value: Any, data: str) -> None:
    raw = bytes.fromhex(data)
    assert converter.from_connect("t", None, value) == raw
    schema, back = converter.to_connect("t", raw)
    assert back == value
    assert converter.from_connect("t", schema, value) == raw
    assert converter.from_connect("t", schema, None) is None
    assert converter.to_connect("t", None) == (schema, None)
    with pytest.raises(DataError):
        converter.from_connect("t", STRING_SCHEMA, "x")
    with pytest.raises(DataError):
        converter.from_connect("t", None, "x")


def test_fixed_width_refuses_other_widths() -> None:
    for converter, data in ((LongConverter(), b"\x00"), (BooleanConverter(), b"\x02"), (ShortConverter(), b"\0\0\0")):
        with pytest.raises(DataError):
            converter.to_connect("t", data)
    with pytest.raises(DataError):
        ShortConverter().from_connect("t", None, 1 << 20)


def test_json_without_schemas() -> None:
    converter = _json(**PLAIN)
    assert converter.from_connect("t", STRING_SCHEMA, 'a "quoted" ü') == '"a \\"quoted\\" ü"'.encode()
    assert converter.from_connect("t", STRING_SCHEMA, "gr\udcfcn") == '"gr\ufffdn"'.encode()
    assert converter.from_connect("t", LINE, {"line": "a"}) == b'{"line":"a","n":null}'
    assert converter.from_connect("t", None, {"a": [1, b"\x01", None]}) == b'{"a":[1,"AQ==",null]}'
    assert converter.from_connect("t", None, None) is None
    assert converter.to_connect("t", b'{"a":1e3}') == (None, {"a": 1000.0})
    assert converter.to_connect("t", None) == (None, None)
    with pytest.raises(
        DataError, match=r"Converting byte\[\] to Kafka Connect data failed due to serialization error: "
    ):
        converter.to_connect("t", b"{")


def test_json_with_schemas() -> None:
    converter = _json()
    data = converter.from_connect("t", STRING_SCHEMA, "a")
    assert data == b'{"schema":{"type":"string","optional":false},"payload":"a"}'
    assert converter.to_connect("t", data) == (STRING_SCHEMA, "a")
    assert converter.from_connect("t", None, {"a": 1}) == b'{"schema":null,"payload":{"a":1}}'
    assert converter.from_connect("t", None, None) is None
    assert converter.to_connect("t", b'{"schema":null,"payload":5}')[1] == 5
    for bare in (b'"bare"', b'{"payload":1}', b'{"schema":{},"payload":1}', b'{"schema":{"type":"uint"},"payload":1}'):
        with pytest.raises(DataError):
            converter.to_connect("t", bare)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (LINE, {"line": "a", "n": 3}),
        (Schema(Type.ARRAY, values=Schema(Type.INT8)), [1, -128]),
        (Schema(Type.MAP, keys=STRING_SCHEMA, values=Schema(Type.FLOAT64)), {"a": 1.5}),
        (Schema(Type.MAP, keys=Schema(Type.INT32), values=STRING_SCHEMA), {1: "a"}),
        (Schema(Type.BYTES, name="b", version=2, doc="d", parameters=(("k", "v"),)), b"\x00\x01"),
        (Schema(Type.BOOLEAN, optional=True), None),
    ],
)
def test_json_envelopes_there_and_back(schema: Schema, value: Any) -> None:
    converter = _json()
    data = converter.from_connect("t", schema, value)
    assert data is not None
    assert converter.to_connect("t", data) == (schema, value)


def test_json_schema_as_connect_spells_it() -> None:
    data = _json().from_connect("t", LINE, {"line": "a"})
    assert data is not None
    assert orjson.loads(data)["schema"] == {
        "type": "struct",
        "fields": [
            {"type": "string", "optional": False, "field": "line"},
            {"type": "int32", "optional": True, "field": "n"},
        ],
        "optional": False,
    }


@pytest.mark.parametrize(
    ("schema", "payload", "value"),
    [("int32", '"x"', 0), ("boolean", "3", False), ("string", "4", None), ("int8", "300", 44), ("double", "1", 1.0)],
)
def test_json_reads_other_scalars_as_java_does(schema: str, payload: str, value: Any) -> None:
    data = f'{{"schema":{{"type":"{schema}"}},"payload":{payload}}}'.encode()
    assert _json().to_connect("t", data)[1] == value


def test_json_refuses_what_the_schema_does_not_say() -> None:
    for schema, value in ((STRING_SCHEMA, None), (Schema(Type.INT8), 200), (Schema(Type.INT32), "x"), (LINE, "x")):
        with pytest.raises(DataError):
            _json().from_connect("t", schema, value)


def test_json_configuration() -> None:
    with pytest.raises(ConfigError, match=r"schemas\.enable"):
        _json(**{"schemas.enable": "x"})
    converter = _json(**{"schema.content": '{"type":"int32"}'})
    assert converter.to_connect("t", b"7") == (Schema(Type.INT32), 7)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("17", Type.INT8, 17), ("300", Type.INT16, 300), ("1.50", Type.FLOAT32, 1.5), ("0.1", Type.FLOAT32, 0.1),
        ("true", Type.BOOLEAN, True), ("text", Type.STRING, "text"), ("[x", Type.STRING, "[x"),
    ],
)  # fmt: skip
def test_header_literals(text: str, kind: Type, value: Any) -> None:
    schema, found = SimpleHeaderConverter().to_connect_header("t", "h", text.encode())
    assert schema is not None
    assert (schema.type, found) == (kind, value)


def test_headers_there_and_back() -> None:
    converter = SimpleHeaderConverter()
    for value in ("text", 17, True, {"a": 1}, [1, 2], None, 1.5):
        data = converter.from_connect_header("t", "h", None, value)
        assert converter.to_connect_header("t", "h", data)[1] == value
