"""The converters and header converters of Connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Schema, Type, struct_schema
from runtime.converters.avro.avro import AvroConverter
from runtime.converters.bytes import ByteArrayConverter
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.json.json import JsonConverter
from runtime.converters.json_schema.json_schema import JsonSchemaConverter
from runtime.converters.numeric import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from runtime.converters.protobuf.protobuf import ProtobufConverter
from runtime.converters.string import StringConverter
from runtime.plugin_kit import Case, ConverterCase, HeaderConverterCase
from tests.support.servers.schema_registry import StubRegistry

_REGISTRY = StubRegistry()
_ORDER = struct_schema({"id": INT64_SCHEMA, "text": STRING_SCHEMA})

_Values = Sequence[tuple[Schema | None, Any]]

_BOTH: Mapping[type[Converter], tuple[_Values, Sequence[bytes]]] = {
    BooleanConverter: ([(Schema(Type.BOOLEAN), True), (None, False), (None, None)], [b"", b"12"]),
    ByteArrayConverter: ([(Schema(Type.BYTES), b"\x00\xff"), (None, b""), (None, None)], []),
    DoubleConverter: ([(Schema(Type.FLOAT64), 1.5), (None, None)], [b"1"]),
    FloatConverter: ([(Schema(Type.FLOAT32), 1.5), (None, None)], [b"1"]),
    IntegerConverter: ([(Schema(Type.INT32), -7), (None, None)], [b"1"]),
    LongConverter: ([(Schema(Type.INT64), -7), (None, None)], [b"1"]),
    ShortConverter: ([(Schema(Type.INT16), -7), (None, None)], [b"1"]),
    StringConverter: ([(STRING_SCHEMA, "text"), (None, "é"), (None, None)], []),
    JsonConverter: ([(_ORDER, {"id": 1, "text": "a"}), (STRING_SCHEMA, "text")], [b"{"]),
}


def _header_case(converter: type[Converter], values: _Values, malformed: Sequence[bytes]) -> HeaderConverterCase:
    assert issubclass(converter, HeaderConverter)
    name = f"{converter.__name__}-headers"
    return HeaderConverterCase(name=name, converter=converter, values=values, malformed=malformed)


CASES: list[Case] = [
    *(ConverterCase(converter=c, values=values, malformed=malformed) for c, (values, malformed) in _BOTH.items()),
    *(_header_case(c, values, malformed) for c, (values, malformed) in _BOTH.items()),
    ConverterCase(
        name="JsonConverter-schemaless",
        converter=JsonConverter,
        config={"schemas.enable": "false"},
        values=[(None, {"id": 1, "list": [1, "a", None]}), (None, None)],
        malformed=[b"{"],
    ),
    *(
        ConverterCase(
            converter=converter,
            config={"schema.registry.url": _REGISTRY.url},
            values=[(_ORDER, {"id": 1, "text": "a"}), (STRING_SCHEMA, "text")],
            malformed=[b"", b"text", b"\x00\x00\x00\x00\x63\x00"],
        )
        for converter in (AvroConverter, ProtobufConverter, JsonSchemaConverter)
    ),
    HeaderConverterCase(
        converter=SimpleHeaderConverter,
        values=[(STRING_SCHEMA, "text"), (None, True)],
    ),
]
