"""JsonConverter with and without schemas."""

from __future__ import annotations

import codecs
import json
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.data.schema import STRING_SCHEMA, Schema, Type
from runtime.api.errors import ConfigError, DataError
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.schema_strategies import TYPED
from tests.support.tasks.schemas import LINE


def test_json_without_schemas() -> None:
    converter = json_converter(False)
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
    converter = json_converter()
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
def test_json_envelopes_round_trip(schema: Schema, value: Any) -> None:
    converter = json_converter()
    data = converter.from_connect("t", schema, value)
    assert data is not None
    assert converter.to_connect("t", data) == (schema, value)


@pytest.mark.parametrize(
    "envelope",
    [
        '{"schema":%s,"payload":%s}',
        '{"schema": %s, "payload": %s}',
        '{ "schema" : %s ,\n  "payload" : %s }',
    ],
)
def test_envelopes_of_any_format_are_converted_as_columns(envelope: str) -> None:
    """Other producers than Connect put spaces into their JSON."""
    fields = [{"field": name, "type": "string", "optional": True} for name in ("payload", "a")]
    schema = json.dumps({"type": "struct", "fields": fields, "name": '"payload": '})
    data = [(envelope % (schema, json.dumps({"payload": str(n), "a": "}"}))).encode() for n in range(3)]
    batch = json_converter().to_connect_batch("t", data)
    assert batch is not None
    assert list(batch.columns["payload"]) == ["0", "1", "2"]
    single = json_converter()
    assert [single.to_connect("t", one)[1] for one in data] == batch.rows
    assert [batch.schema] * 3 == [single.to_connect("t", one)[0] for one in data]


def test_envelopes_whose_parts_are_in_another_order_are_converted_one_by_one() -> None:
    data = [b'{"payload": %d, "schema": {"type": "int32"}}' % n for n in range(3)]
    converter = json_converter()
    assert converter.to_connect_batch("t", data) is None
    assert [converter.to_connect("t", one)[1] for one in data] == [0, 1, 2]
    spaced = [b'{"schema": {"type": "int32"}, "payload": %d}' % n for n in range(3)]
    assert [converter.to_connect("t", one)[1] for one in (data[0], spaced[1], data[2])] == [0, 1, 2]
    batch = converter.to_connect_batch("t", spaced)
    assert batch is not None and list(batch.rows) == [0, 1, 2]


def test_a_json_schema_in_connects_form() -> None:
    data = json_converter().from_connect("t", LINE, {"line": "a"})
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
    assert json_converter().to_connect("t", data)[1] == value


def test_json_refuses_values_that_do_not_match_the_schema() -> None:
    for schema, value in ((STRING_SCHEMA, None), (Schema(Type.INT8), 200), (Schema(Type.INT32), "x"), (LINE, "x")):
        with pytest.raises(DataError):
            json_converter().from_connect("t", schema, value)


def test_json_configuration() -> None:
    with pytest.raises(ConfigError, match=r"schemas\.enable"):
        json_converter(**{"schemas.enable": "x"})
    converter = json_converter(schema_content='{"type":"int32"}')
    assert converter.to_connect("t", b"7") == (Schema(Type.INT32), 7)


def test_the_first_fault_of_a_struct_is_reported() -> None:
    fields = b'[{"type":"string","field":"a"},{"type":"bytes","field":"b"}]'
    envelope = b'{"schema":{"type":"struct","fields":%s},"payload":{"a":[1],"b":null}}' % fields
    with pytest.raises(DataError, match='null used for required field: "a", schema type: STRING'):
        json_converter().to_connect("t", envelope)


@pytest.mark.parametrize("data", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_a_byte_order_mark_alone_is_malformed(data: bytes) -> None:
    with pytest.raises(DataError, match="serialization error"):
        json_converter(False).to_connect("t", data)


def test_decimal_defaults_in_schema_content() -> None:
    decimal = "org.apache.kafka.connect.data.Decimal"
    schema = {"type": "bytes", "name": decimal, "version": 1, "parameters": {"scale": "2"}, "default": 1.25}
    fields = {"type": "struct", "fields": [{**schema, "field": "d"}]}
    converter = json_converter(schema_content=json.dumps(fields))
    assert converter.to_connect("t", b"{}")[1] == {"d": Decimal("1.25")}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("0.1", "0.1"),
        ("0.1234567891", "0.12345679"),
        ("16777217", "1.6777216E7"),
        ("1e-46", "0.0"),
        ("1e10", "1.0E10"),
        ("123456789", "1.23456792E8"),
        ("1700000000123", "1.70000004E12"),
        ("2147483648.5", "2.14748365E9"),
        ("1e-45", "1.4E-45"),
        ("1e39", '"Infinity"'),
    ],
)
def test_floats_of_32_bits_are_rounded_as_java_does(given: str, written: str) -> None:
    """Recorded from Apache's JsonConverter 4.3."""
    typed, plain = json_converter(), json_converter(False)
    schema, value = typed.to_connect("t", b'{"schema":{"type":"float"},"payload":%s}' % given.encode())
    assert plain.from_connect("t", schema, value) == written.encode()


@settings(max_examples=400)
@given(st.data(), st.sampled_from(("BASE64", "NUMERIC")))
def test_every_value_round_trips(data: st.DataObject, decimals: str) -> None:
    schema, values = data.draw(TYPED)
    first, second = data.draw(values), data.draw(values)
    writer, reader = json_converter(decimal_format=decimals), json_converter(decimal_format=decimals)
    for value in (first, second, first):  # the second time the envelope is cached
        written = writer.from_connect("t", schema, value)
        assert written is not None
        found_schema, found = reader.to_connect("t", written)
        assert found_schema == schema
        assert _same(found, value)


def _same(found: Any, value: Any) -> bool:
    """Whether two values are equal and of the same types: 1 is not 1.0."""
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(_same(found[k], v) for k, v in value.items())
    if isinstance(value, list):
        return len(found) == len(value) and all(map(_same, found, value))
    return type(found) is type(value) and found == value
