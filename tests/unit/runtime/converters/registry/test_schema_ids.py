"""Where messages have the id of their schema: prefixes, headers, and what a sink does with them."""

from __future__ import annotations

import uuid

import pytest

from runtime.api.converter import RawHeaders
from runtime.api.data.schema import INT64_SCHEMA, Field, Schema, Type
from runtime.api.errors import ConfigError, DataError
from runtime.converters.avro.avro import AvroConverter
from runtime.converters.json_schema.json_schema import JsonSchemaConverter
from runtime.converters.protobuf.protobuf import ProtobufConverter
from runtime.converters.registry.converter import RegistryConverter
from runtime.converters.registry.schemas import SchemaId
from runtime.converters.registry.wire import guid_prefix, number_prefix, read_prefix
from runtime.plugins.registry import load, registry
from tests.support.registry_converters import registry_converter
from tests.support.servers.schema_registry import StubRegistry, guid_of

ORDER = Schema(Type.STRUCT, name="com.x.Order", fields=(Field("id", INT64_SCHEMA),))
KINDS = [
    (AvroConverter, b"\x0a", b""),
    (ProtobufConverter, b"\x08\x05", b"\x00"),
    (JsonSchemaConverter, b'{"id":5}', b""),
]
HEADER = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"
converters = pytest.mark.parametrize(("kind", "body", "path"), KINDS, ids=lambda value: getattr(value, "__name__", ""))


@pytest.mark.parametrize("path", [(), (0,), (1,), (2, 0, 300)])
def test_prefixes(path: tuple[int, ...]) -> None:
    schema = SchemaId(2**32 - 1, guid_of(7))
    for data, known in ((number_prefix(schema, path), 2**32 - 1), (guid_prefix(schema, path), guid_of(7))):
        prefix = read_prefix(data + b"rest", bool(path))
        assert (prefix.data, prefix.schema, prefix.path) == (data, known, path)
    for data in (b"", b"\x00\x00", b"\x02abcdef", b"\x01abc"):
        with pytest.raises(DataError, match="Unknown magic byte!"):
            read_prefix(data)
    with pytest.raises(DataError, match="message indexes after the schema id are invalid"):
        read_prefix(b"\x00\x00\x00\x00\x01\x80", True)


@converters
def test_ids_in_headers(stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes) -> None:
    for is_key, name, part in ((False, "__value_schema_id", "value"), (True, "__key_schema_id", "key")):
        converter = registry_converter(kind, stub, is_key, **{f"{part}_schema_id_serializer": HEADER})
        assert converter.uses_headers
        headers: RawHeaders = [("own", b"x")]
        for _ in range(2):  # the header is added once
            assert converter.from_connect_with_headers("t", headers, ORDER, {"id": 5}) == body
        assert headers == [("own", b"x"), (name, b"\x01" + uuid.UUID(guid_of(1)).bytes + path)]
        reader = registry_converter(kind, stub, is_key)
        assert not reader.uses_headers
        assert reader.schema_header == name
        assert reader.to_connect_with_headers("t", headers, body)[1] == {"id": 5}
    plain = registry_converter(kind, stub).from_connect("t", ORDER, {"id": 5})
    assert plain == b"\x00\x00\x00\x00\x01" + path + body
    assert registry_converter(kind, stub).to_connect_with_headers("t", [("own", b"x")], plain)[1] == {"id": 5}
    only = registry_converter(kind, stub, value_schema_id_deserializer="PrefixSchemaIdDeserializer")
    assert only.schema_header is None
    with pytest.raises(DataError, match="Unknown magic byte!"):
        only.to_connect_with_headers("t", [("__value_schema_id", b"\x01" + bytes(16) + path)], body)


@converters
def test_batches(stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes) -> None:
    converter, head = registry_converter(kind, stub), b"\x00\x00\x00\x00\x01" + path
    one = converter.from_connect("t", ORDER, {"id": 5}) or b""
    batch = converter.to_connect_batch("t", [one, head + body])
    assert batch is not None
    assert list(batch.rows) == [{"id": 5}, {"id": 5}]
    other = registry_converter(kind, stub).from_connect("u", ORDER.replace(name="com.x.Other"), {"id": 6}) or b""
    assert converter.to_connect_batch("t", [one, other]) is None
    assert converter.schema_keys([one, other]) == [head, b"\x00\x00\x00\x00\x02" + path]
    assert converter.to_connect_batch("u", [other])


@converters
def test_wrong_settings(stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes) -> None:
    for name, value, message in (
        ("value_schema_id_serializer", "x.Other", "use one of PrefixSchemaIdSerializer, HeaderSchemaIdSerializer"),
        ("value_schema_id_deserializer", "x.Other", "use one of DualSchemaIdDeserializer, PrefixSchemaIdDeserializer"),
        ("value_subject_name_strategy", "x.Other", "Unknown subject name strategy x.Other"),
    ):
        with pytest.raises(ConfigError, match=message):
            registry_converter(kind, stub, **{name: value})


@converters
def test_subjects_and_normal_forms(stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes) -> None:
    for strategy in ("RecordNameStrategy", "TopicRecordNameStrategy"):
        registry_converter(kind, stub, value_subject_name_strategy=strategy).from_connect("t", ORDER, {"id": 5})
    assert set(stub.subjects) == {"com.x.Order", "t-com.x.Order"}
    registry_converter(kind, stub, normalize_schemas="true").from_connect("n", ORDER, {"id": 5})
    assert stub.requests[-1] == "POST /subjects/n-value/versions?normalize=true"
    registry_converter(kind, stub, auto_register_schemas="false", use_schema_id="1").from_connect("t", ORDER, {"id": 5})
    assert stub.requests[-1] == "GET /schemas/ids/1"


@converters
def test_a_preview_registers_no_schema(
    stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes
) -> None:
    converter = registry_converter(kind, stub)
    converter.disable_registration()
    assert converter.from_connect("t", ORDER, {"id": 5}) == b"\x00\x00\x00\x00\x00" + path + body
    assert stub.subjects == {}


@pytest.mark.parametrize(
    ("kind", "package"), [(AvroConverter, "avro"), (JsonSchemaConverter, "json"), (ProtobufConverter, "protobuf")]
)
def test_converters_are_found_by_name_but_not_listed(kind: type[RegistryConverter], package: str) -> None:
    name = kind.__name__
    for text in (f"io.confluent.connect.{package}.{name}", name, name.removesuffix("Converter")):
        assert load("converter", text) is kind
    assert "io.confluent" not in str(registry().entries(connectors_only=False))


@converters
@pytest.mark.parametrize("part", ["latest", "id"])
def test_a_strict_comparison_of_schemas_is_refused(
    stub: StubRegistry, kind: type[RegistryConverter], body: bytes, path: bytes, part: str
) -> None:
    key = f"{part}.compatibility.strict"
    with pytest.raises(ConfigError, match=rf"Invalid value true for configuration {key}: .*; remove {key}, or set it"):
        registry_converter(kind, stub, **{f"{part}_compatibility_strict": "true"})
    registry_converter(kind, stub, **{f"{part}_compatibility_strict": "false"})
