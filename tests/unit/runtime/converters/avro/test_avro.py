"""AvroConverter with a stub of the schema registry (tests.support.servers.schema_registry)."""

from __future__ import annotations

import io
import json
import sys
from contextlib import closing
from decimal import Decimal
from functools import partial
from typing import Any

import fastavro
import pytest

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)
from runtime.api.errors import ConfigError, DataError, RetriableError
from runtime.converters.avro.avro import MISSING, AvroConverter
from runtime.rest.security.tls import server_context
from tests.support.generated import TWENTY, records
from tests.support.registry_converters import DETAILED, HOME, VALUE, record, registry_converter
from tests.support.servers.java_stores import KEYS, ROOT, TRUST
from tests.support.servers.schema_registry import StubRegistry

made = partial(registry_converter, AvroConverter)
MORE = {"inner": record(("n", INT32_SCHEMA), name=None), "other": record(("m", INT32_SCHEMA), name=None)}
EVERYTHING = record(*DETAILED.items(), *MORE.items(), version=7, doc="all there is")
VALUES = {**VALUE, "inner": {"n": 1}, "other": {"m": 2}}


def test_every_type_round_trips(stub: StubRegistry) -> None:
    data = made(stub).from_connect("t", EVERYTHING, VALUES)
    assert data is not None
    assert data[:5] == b"\x00\x00\x00\x00\x01"
    schema, value = made(stub).to_connect("t", data)
    assert value == VALUES
    assert schema == EVERYTHING


def test_registered_schemas_are_valid_avro(stub: StubRegistry) -> None:
    data = made(stub).from_connect("t", EVERYTHING, VALUES) or b""
    document = json.loads(stub.schemas[0]["schema"])
    fields = {field["name"]: field for field in document["fields"]}
    assert (document["name"], document["namespace"], document["connect.name"]) == ("Order", "com.x", "com.x.Order")
    assert fields["i8"]["type"] == {"type": "int", "connect.type": "int8"}
    assert fields["price"]["type"] == {
        "type": "bytes", "scale": 2, "precision": 64, "connect.version": 1, "connect.parameters": {"scale": "2"},
        "connect.name": "org.apache.kafka.connect.data.Decimal", "logicalType": "decimal",
    }  # fmt: skip
    assert (fields["at"]["type"][0], fields["at"]["default"]) == ("null", None)
    assert fields["work"]["type"] == ["null", "com.x.Address"]
    assert fields["f64"]["default"] == 1.5
    assert [fields[name]["type"]["name"] for name in ("inner", "other")] == ["ConnectDefault", "ConnectDefault2"]
    assert fields["by_number"]["type"][1]["items"]["name"] == "MapEntry"
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(document), None)
    assert (read["i64"], read["price"], read["home"]) == (2**63 - 1, Decimal("-12.30"), HOME)


def test_subjects_ids_and_caching(stub: StubRegistry) -> None:
    key, value = made(stub, True), made(stub)
    for _ in range(3):
        assert (key.from_connect("t", STRING_SCHEMA, "k") or b"")[5:] == b"\x02k"
        value.from_connect("t", record(("n", INT32_SCHEMA)), {"n": 1})
        value.from_connect("t", record(("n", INT32_SCHEMA)), {"n": 2})  # an equal schema in another object
        value.to_connect("t", b"\x00\x00\x00\x00\x01\x02k")
    assert stub.subjects == {"t-key": [1], "t-value": [2]}
    asked = ["POST /subjects/t-key/versions", "POST /subjects/t-value/versions", "GET /schemas/ids/1"]
    asked.append("POST /subjects/t-value")  # the version of schema 1
    assert sorted(stub.requests) == sorted(asked)
    for strategy, subject in (("RecordNameStrategy", "com.x.Order"), ("TopicRecordNameStrategy", "t-com.x.Order")):
        name = f"io.confluent.kafka.serializers.subject.{strategy}"
        made(stub, value_subject_name_strategy=name).from_connect("t", record(("n", INT32_SCHEMA)), {"n": 1})
        assert subject in stub.subjects


def test_the_subject_of_a_record_without_a_name(stub: StubRegistry) -> None:
    converter = made(stub, value_subject_name_strategy="RecordNameStrategy")
    schema = Schema(Type.STRUCT, fields=(Field("n", INT32_SCHEMA),))
    data = converter.from_connect("t", schema, {"n": 1})
    assert list(stub.subjects) == ["io.confluent.connect.avro.ConnectDefault"]
    assert converter.to_connect("t", data) == (schema.replace(version=1), {"n": 1})


def test_a_schema_that_may_be_registered_is_written(stub: StubRegistry) -> None:
    """As in Confluent's converters, `use.latest.version` and `use.schema.id` apply to auto.register.schemas=false."""
    stub.add("t-value", "long")
    for option in ({"use_latest_version": "true"}, {"use_schema_id": "1"}):
        data = made(stub, **option).from_connect("t", STRING_SCHEMA, "a")
        assert data == b"\0\0\0\0\2\2a"


def test_nulls_and_values_without_a_schema(stub: StubRegistry) -> None:
    converter = made(stub)
    assert converter.to_connect("t", None) == (None, None)
    assert converter.from_connect("t", None, None) is None
    assert converter.from_connect("t", OPTIONAL_STRING_SCHEMA, None) is None
    with pytest.raises(DataError, match="cannot convert a record without a schema"):
        converter.from_connect("t", None, {"a": 1})
    with pytest.raises(DataError, match="null used for required field: n"):
        converter.from_connect("t", record(("n", INT32_SCHEMA)), {})
    filled = converter.from_connect("t", record(("n", INT32_SCHEMA.replace(default=4))), {})
    assert converter.to_connect("t", filled)[1] == {"n": 4}


AVRO = [
    ("string", STRING_SCHEMA, "a", "a"),
    (["null", "long"], INT64_SCHEMA.replace(optional=True), 5, 5),
    ({"type": "long", "logicalType": "timestamp-micros"}, INT64_SCHEMA, 5, 5),
    ({"type": "string", "logicalType": "uuid"}, STRING_SCHEMA, "0" * 32, "0" * 32),
    (
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        STRING_SCHEMA.replace(name="E", parameters=(
            ("io.confluent.connect.avro.Enum", "E"), ("io.confluent.connect.avro.Enum.A", "A"),
            ("io.confluent.connect.avro.Enum.B", "B"),
        )), "B", "B",
    ),
    (
        {"type": "fixed", "name": "x.F", "size": 2},
        Schema(Type.BYTES, name="x.F", parameters=(("connect.fixed.size", "2"),)), b"ab", b"ab",
    ),
    (
        {"type": "record", "name": "R", "fields": [
            {"name": "u", "type": ["null", "string", "int", {"type": "record", "name": "S", "fields": [
                {"name": "s", "type": "int"},
            ]}]},
            {"name": "again", "type": {"type": "array", "items": "S"}},
        ]},
        record(
            ("u", Schema(Type.STRUCT, optional=True, name="io.confluent.connect.avro.Union", fields=(
                Field("string", OPTIONAL_STRING_SCHEMA), Field("int", INT32_SCHEMA.replace(optional=True)),
                Field("S", record(("s", INT32_SCHEMA), name="S", optional=True)),
            ))),
            ("again", Schema(Type.ARRAY, values=record(("s", INT32_SCHEMA), name="S"))), name="R",
        ),
        {"u": {"s": 1}, "again": [{"s": 2}]}, {"u": {"S": {"s": 1}}, "again": [{"s": 2}]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "schema", "avro", "connect"), AVRO, ids=lambda value: str(value)[:30])
def test_data_of_other_writers_is_read(
    stub: StubRegistry, document: Any, schema: Schema, avro: Any, connect: Any
) -> None:
    number = stub.add("any", document)
    plain = json.loads(json.dumps(document).replace("logicalType", "ignored"))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), avro)
    data = b"\x00" + number.to_bytes(4, "big") + out.getvalue()
    assert made(stub).to_connect("t", data) == (schema, connect)


def test_references_between_schemas(stub: StubRegistry) -> None:
    inner = {"type": "record", "name": "Inner", "namespace": "a.b", "fields": [{"name": "n", "type": "int"}]}
    stub.add("inner", inner)
    outer = {"type": "record", "name": "Outer", "namespace": "c", "fields": [{"name": "i", "type": "a.b.Inner"}]}
    number = stub.add("outer", outer, [{"name": "a.b.Inner", "subject": "inner", "version": 1}])
    schema, value = made(stub).to_connect("t", b"\x00" + number.to_bytes(4, "big") + b"\x04")
    assert value == {"i": {"n": 2}}
    assert schema == record(("i", record(("n", INT32_SCHEMA), name="a.b.Inner")), name="c.Outer")


def test_enums_and_the_latest_schema(stub: StubRegistry) -> None:
    enum = AVRO[4][1]
    assert isinstance(enum, Schema)
    data = made(stub, enhanced_avro_schema_support="true").from_connect("t", enum, "B")
    assert json.loads(stub.schemas[0]["schema"]) == {
        "type": "enum", "name": "E", "symbols": ["A", "B"],
        "connect.name": "E", "connect.parameters": dict(enum.parameters),
    }  # fmt: skip
    assert made(stub).to_connect("t", data) == (enum.replace(version=1), "B")
    wider = {"type": "record", "name": "Order", "namespace": "com.x", "fields": [
        {"name": "n", "type": "long"}, {"name": "more", "type": "string", "default": "x"},
    ]}  # fmt: skip
    number = stub.add("l-value", wider)
    latest = made(stub, auto_register_schemas="false", use_latest_version="true")
    data = latest.from_connect("l", record(("n", INT32_SCHEMA)), {"n": 1}) or b""
    assert (data[4], made(stub).to_connect("l", data)[1]) == (number, {"n": 1, "more": "x"})
    optional = record(("n", INT32_SCHEMA.replace(optional=True)))
    assert latest.from_connect("l", optional, {"n": 1}) == data, "each value is checked, not the schema"
    with pytest.raises(DataError):
        latest.from_connect("l", optional, {"n": None})


def test_errors_of_the_registry(stub: StubRegistry) -> None:
    stub.refuse.add("t-value")
    with pytest.raises(DataError, match="409 Schema being registered is incompatible"):
        made(stub).from_connect("t", STRING_SCHEMA, "a")
    with pytest.raises(DataError, match="404 Schema not found"):
        made(stub, auto_register_schemas="false").from_connect("u", STRING_SCHEMA, "a")
    with pytest.raises(DataError, match="Unknown magic byte!"):
        made(stub).to_connect("t", b"text!")
    with pytest.raises(DataError, match="404"):
        made(stub).to_connect("t", b"\x00\x00\x00\x00\x09x")
    with pytest.raises(DataError, match="Failed to deserialize data for topic t to Avro"):
        made(stub).to_connect("t", b"\x00" + stub.add("x", "long").to_bytes(4, "big"))
    with pytest.raises(DataError, match="'a b' is not a valid field name in Avro"):
        made(stub).from_connect("t", record(("a b", INT32_SCHEMA)), {"a b": 1})
    stub.down = True
    with pytest.raises(RetriableError, match="503 not now"):
        made(stub).from_connect("v", STRING_SCHEMA, "a")
    stub.down, stub.busy = False, True
    with pytest.raises(RetriableError, match="429 Too Many Requests"):
        made(stub).from_connect("v", STRING_SCHEMA, "a")


def test_several_registries_and_credentials() -> None:
    with closing(StubRegistry("me", "secret")) as stub:
        urls = f"http://127.0.0.1:1,{stub.url}"
        info = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:secret"}
        assert made(stub, schema_registry_url=urls, **info).from_connect("t", STRING_SCHEMA, "a")
        with pytest.raises(DataError, match="401 Unauthorized") as refused:
            made(stub, **{**info, "basic_auth_user_info": "me:wrong"}).from_connect("t", STRING_SCHEMA, "a")
        assert "wrong" not in str(refused.value)
        in_url = stub.url.replace("//", "//me:secret@")
        assert made(stub, schema_registry_url=in_url).from_connect("t", STRING_SCHEMA, "a")


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_registry_that_asks_for_certificates(kind: str) -> None:
    tls = server_context({**KEYS[kind], "ssl.truststore.location": str(ROOT), "ssl.client.auth": "required"})
    stores = {f"schema.registry.{key}": value for key, value in {**KEYS[kind], **TRUST[kind]}.items()}
    with closing(StubRegistry(tls=tls)) as served:
        assert made(served, **stores).from_connect("t", STRING_SCHEMA, "x")
        with pytest.raises(ConfigError, match=r"^schema\.registry\.ssl\.truststore\.location=.* cannot be read with"):
            made(served, **{**stores, "schema.registry.ssl.truststore.password": "wrong"})


def test_ten_thousand_records_have_the_bytes_of_fastavro(stub: StubRegistry) -> None:
    rows, converter = list(records(10_000)), made(stub)
    batch = converter.from_connect_batch("t", ValueBatch(TWENTY, rows))
    assert batch is not None
    parsed = fastavro.parse_schema(json.loads(stub.schemas[0]["schema"]))
    expected = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        expected.append(b"\x00\x00\x00\x00\x01" + out.getvalue())
    assert batch == expected
    assert [converter.from_connect("t", TWENTY, row) for row in rows[:500]] == expected[:500]
    read = converter.to_connect_batch("t", expected)
    assert read is not None
    assert list(read.rows) == rows
    assert converter.to_connect("t", expected[0]) == (TWENTY.replace(version=1), rows[0])
    for wrong in ({"text0": None}, {"int0": "a"}):  # refused in a batch, and then one by one
        with pytest.raises((DataError, TypeError, ValueError, AttributeError)):
            converter.from_connect_batch("t", ValueBatch(TWENTY, [{**rows[0], **wrong}]))
        with pytest.raises(DataError):
            converter.from_connect("t", TWENTY, {**rows[0], **wrong})


def test_the_error_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)  # as if it were not installed
    with pytest.raises(ConfigError, match=r"pip install 'headrace\[avro\]'"):
        AvroConverter().configure({"schema.registry.url": "http://x"}, False)
    validator = next(key for key in AvroConverter.config_def if key.name == "schema.registry.url").validator
    assert validator is not None
    with pytest.raises(ConfigError) as refused:
        validator("schema.registry.url", ["http://x"])
    assert str(refused.value) == MISSING
