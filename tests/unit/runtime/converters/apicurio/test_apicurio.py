"""Apicurio's converters with a stub of its registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from runtime.api.converter import RawHeaders
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import ConfigError, DataError, RetriableError
from runtime.converters.apicurio.avro import ApicurioAvroConverter
from runtime.converters.apicurio.converter import ApicurioConverter
from runtime.converters.apicurio.ext_json import ExtJsonConverter
from runtime.converters.avro.avro import AvroConverter
from runtime.plugins.registry import load
from tests.support.servers.apicurio import GLOBAL, StubApicurio

A = "apicurio.registry."
AUTO = {f"{A}auto-register": "true"}
ORDER = Schema(
    Type.STRUCT, name="com.x.Order", fields=(Field("id", INT64_SCHEMA), Field("text", OPTIONAL_STRING_SCHEMA))
)
VALUE = {"id": 5, "text": "é"}
BODY = b"\x0a\x02\x04\xc3\xa9"  # in Avro
Kind = type[ApicurioConverter]


@pytest.fixture
def stub() -> Iterator[StubApicurio]:
    with closing(StubApicurio()) as stub:
        yield stub


def made(
    kind: Kind, stub: StubApicurio, config: dict[str, str] | None = None, is_key: bool = False
) -> ApicurioConverter:
    converter = kind()
    converter.configure({f"{A}url": f"{stub.url}/apis/registry/v3", **(config or {})}, is_key)
    return converter


def test_avro_with_ids_of_four_and_eight_bytes(stub: StubApicurio) -> None:
    stub.add("default/other", "long")
    for more, head in (
        ({}, b"\x00\x00\x00\x00\x02"),
        ({f"{A}use-id": "globalId"}, b"\x00" + (GLOBAL + 2).to_bytes(4, "big")),
        ({f"{A}id-handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler"}, b"\x00" + (2).to_bytes(8, "big")),
    ):
        writer, reader = made(ApicurioAvroConverter, stub, {**AUTO, **more}), made(ApicurioAvroConverter, stub, more)
        data = writer.from_connect("t", ORDER, VALUE)
        assert data == head + BODY
        assert reader.to_connect("t", data) == (ORDER, VALUE)
        batch = writer.from_connect_batch("t", ValueBatch(ORDER, [VALUE, VALUE]))
        assert batch == [data, data]
        read = reader.to_connect_batch("t", [data, data])
        assert read is not None
        assert list(read.rows) == [VALUE, VALUE]
    assert stub.subjects["default/t-value"] == [2]
    document = json.loads(stub.text(2))
    assert (document["name"], document["namespace"]) == ("Order", "com.x")


def test_ids_in_headers(stub: StubApicurio) -> None:
    converter = made(ApicurioAvroConverter, stub, {**AUTO, f"{A}headers.enabled": "true"})
    headers: RawHeaders = []
    assert converter.uses_headers
    assert converter.from_connect_with_headers("t", headers, ORDER, VALUE) == BODY
    assert headers == [("apicurio.value.contentId", bytes(7) + b"\x01"), ("apicurio.value.encoding", b"BINARY")]
    assert converter.to_connect_with_headers("t", headers, BODY) == (ORDER, VALUE)
    assert converter.to_connect_with_headers("t", [], b"\x00\x00\x00\x00\x01" + BODY) == (ORDER, VALUE)


def test_json_with_the_id_beside_the_payload(stub: StubApicurio) -> None:
    converter = made(ExtJsonConverter, stub, AUTO)
    data = converter.from_connect("t", ORDER, VALUE)
    assert data == '{"schemaId":1,"payload":{"id":5,"text":"é"}}'.encode()
    assert json.loads(stub.text(1))["fields"][0] == {"type": "int64", "optional": False, "field": "id"}
    assert stub.schemas[0]["schemaType"] == "KCONNECT"
    reader = made(ExtJsonConverter, stub)
    assert reader.to_connect("t", data) == (ORDER, VALUE)
    assert reader.to_connect("t", b' { "schemaId" : 1, "payload" : {"id":5,"text":null} }')[1] == {
        "id": 5,
        "text": None,
    }
    batch = converter.from_connect_batch("t", ValueBatch(ORDER, [VALUE, VALUE]))
    assert batch == [data, data]
    read = reader.to_connect_batch("t", [data, data])
    assert read is not None
    assert list(read.rows) == [VALUE, VALUE]
    assert reader.schema_keys([data]) == [b'{"schemaId":1,"payload":']
    assert converter.from_connect("t", OPTIONAL_STRING_SCHEMA, None) == b'{"schemaId":2,"payload":null}'
    with pytest.raises(DataError, match='not an object with "schemaId" and "payload"'):
        reader.to_connect("t", b"text")


@pytest.mark.parametrize(
    ("config", "subject"),
    [
        ({f"{A}artifact-resolver-strategy": "io.apicurio.registry.serde.strategy.SimpleTopicIdStrategy"}, "default/t"),
        ({f"{A}artifact-resolver-strategy": "io.apicurio.registry.serde.avro.RecordIdStrategy"}, "com.x/Order"),
        ({f"{A}artifact-resolver-strategy": "QualifiedRecordIdStrategy"}, "default/com.x.Order"),
        ({f"{A}artifact-resolver-strategy": "TopicRecordIdStrategy"}, "com.x/t-Order"),
        ({f"{A}artifact.group-id": "g", f"{A}artifact.artifact-id": "a"}, "g/a"),
    ],
)
def test_artifacts(stub: StubApicurio, config: dict[str, str], subject: str) -> None:
    made(ApicurioAvroConverter, stub, {**AUTO, **config}).from_connect("t", ORDER, VALUE)
    assert stub.subjects == {subject: [1]}
    known = made(ApicurioAvroConverter, stub, config)  # without registering
    assert known.from_connect("t", ORDER, VALUE) == b"\x00\x00\x00\x00\x01" + BODY


def test_the_latest_version_and_references(stub: StubApicurio) -> None:
    inner = {"type": "record", "name": "Inner", "namespace": "a", "fields": [{"name": "n", "type": "long"}]}
    stub.add("g/inner", inner)
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "i", "type": "a.Inner"}]}
    references = [{"name": "a.Inner", "groupId": "g", "artifactId": "inner", "version": "1"}]
    stub.add("default/t-value", outer, references)
    converter = made(ApicurioAvroConverter, stub, {f"{A}find-latest": "true"})
    schema = Schema(Type.STRUCT, name="Outer", fields=(
        Field("i", Schema(Type.STRUCT, name="a.Inner", fields=(Field("n", INT64_SCHEMA),))),
    ))  # fmt: skip
    data = converter.from_connect("t", schema, {"i": {"n": 5}})
    assert data == b"\x00\x00\x00\x00\x02\x0a"
    assert converter.to_connect("t", data) == (schema, {"i": {"n": 5}})


def test_errors(stub: StubApicurio) -> None:
    with pytest.raises(
        DataError, match=r"default/t-value has no version with the schema .* set apicurio.*auto-register"
    ):
        made(ApicurioAvroConverter, stub).from_connect("t", ORDER, VALUE)
    for name, value in (("id-handler", "x.Other"), ("artifact-resolver-strategy", "x.Other"), ("use-id", "hash")):
        with pytest.raises(ConfigError, match="for configuration apicurio"):
            made(ApicurioAvroConverter, stub, {f"{A}{name}": value})
    with pytest.raises(DataError, match="404"):
        made(ApicurioAvroConverter, stub).to_connect("t", b"\x00\x00\x00\x00\x09")
    with pytest.raises(DataError, match="Unknown magic byte!"):
        made(ApicurioAvroConverter, stub).to_connect("t", b"\x01\x00\x00\x00\x09")
    preview = made(ApicurioAvroConverter, stub, AUTO)
    preview.disable_registration()
    assert preview.from_connect("t", STRING_SCHEMA, "a") == b"\x00\x00\x00\x00\x00\x02a"
    stub.down = True
    with pytest.raises(RetriableError, match="503 not now"):
        made(ApicurioAvroConverter, stub, AUTO).from_connect("t", ORDER, VALUE)


def test_credentials() -> None:
    with closing(StubApicurio("me", "secret")) as stub:
        config = {**AUTO, f"{A}auth.username": "me", f"{A}auth.password": "secret"}
        assert made(ApicurioAvroConverter, stub, config).from_connect("t", ORDER, VALUE)
        with pytest.raises(DataError, match="401"):
            made(ApicurioAvroConverter, stub, AUTO).from_connect("t", ORDER, VALUE)


def test_the_converters_are_found_by_their_full_names() -> None:
    package = "io.apicurio.registry.utils.converter"
    assert load("converter", f"{package}.AvroConverter") is ApicurioAvroConverter
    assert load("converter", f"{package}.ExtJsonConverter") is ExtJsonConverter
    assert load("converter", "AvroConverter") is AvroConverter
