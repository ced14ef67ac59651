"""ProtobufConverter with a stub of the schema registry, against Google's own serialization."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from runtime.api.data.columns import ValueBatch
from runtime.api.data.logical import DATE_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)
from runtime.api.errors import ConfigError, DataError
from runtime.converters.protobuf.protobuf import MISSING, ProtobufConverter
from tests.support.generated import TWENTY, records
from tests.support.registry_converters import PLAIN, VALUE, record, registry_converter
from tests.support.servers.schema_registry import StubRegistry

NAMESPACE = "io.confluent.connect.protobuf"
TAG = f"{NAMESPACE}.Tag"


made = partial(registry_converter, ProtobufConverter)


def tagged(schema: Schema, number: int, optional: bool = True) -> Schema:
    """The schema as it is read from a field with this number."""
    return schema.replace(optional=optional, parameters=(*schema.parameters, (TAG, str(number))))


EVERYTHING = record(*PLAIN.items())
HOME = {"street": "Main", "zip": ""}
OWN = {"home": HOME, "tags": ["a", "b"], "by_number": {7: HOME}}
VALUES = {name: value for name, value in {**VALUE, **OWN}.items() if name in PLAIN}
TEXT = """syntax = "proto3";
package com.x;

import "confluent/meta.proto";

message Order {
  int32 small = 1 [(confluent.field_meta) = { params: [{ key: "connect.type", value: "int16" }] }];
  string text = 2;
  repeated string tags = 3;
  Address home = 4;

  message Address {
    string street = 1;
  }
}
"""


def test_every_type_round_trips(stub: StubRegistry) -> None:
    data = made(stub).from_connect("t", EVERYTHING, VALUES)
    assert data is not None
    assert data[:6] == b"\x00\x00\x00\x00\x01\x00"
    schema, value = made(stub).to_connect("t", data)
    assert value == VALUES
    assert schema is not None
    assert (schema.name, schema.version) == ("Order", 1)
    assert [field.name for field in schema.fields] == [field.name for field in EVERYTHING.fields]
    assert schema.field("i8") == tagged(INT8_SCHEMA, 1)
    assert schema.field("price") == tagged(decimal_schema(2), 10)
    assert schema.field("day") == tagged(DATE_SCHEMA, 11)
    parts = record(("street", tagged(STRING_SCHEMA, 1)), ("zip", tagged(STRING_SCHEMA, 2)), name="Address")
    assert schema.field("home") == tagged(parts, 14)
    assert schema.field("tags") == tagged(Schema(Type.ARRAY, values=OPTIONAL_STRING_SCHEMA), 16)
    sizes = Schema(
        Type.MAP, name="connect_default1", keys=tagged(STRING_SCHEMA, 1), values=tagged(INT32_SCHEMA, 2), optional=True
    )
    assert schema.field("sizes") == tagged(sizes, 17)
    again = made(stub).from_connect("t", schema, value)
    assert (again or b"")[6:] == data[6:]


def test_the_registered_text(stub: StubRegistry) -> None:
    schema = record(
        ("small", INT16_SCHEMA), ("text", STRING_SCHEMA), ("tags", Schema(Type.ARRAY, values=STRING_SCHEMA)),
        ("home", record(("street", STRING_SCHEMA), name="com.x.Address")),
    )  # fmt: skip
    made(stub).from_connect("t", schema, {"small": 1})
    assert stub.schemas[0] == {"schema": TEXT, "references": [], "schemaType": "PROTOBUF"}


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        (STRING_SCHEMA, "k", b"\x02\x0e\n\x01k"),
        (INT8_SCHEMA, 5, b"\x02\x08\x08\x05"),
        (INT64_SCHEMA, 300, b"\x02\x04\x08\xac\x02"),
        (BYTES_SCHEMA, b"\x00", b"\x02\x10\n\x01\x00"),
        (BOOLEAN_SCHEMA, True, b"\x02\x0c\x08\x01"),
    ],
)
def test_values_that_are_not_structs_are_wrapped(stub: StubRegistry, schema: Schema, value: Any, data: bytes) -> None:
    assert made(stub).from_connect("t", schema, value) == b"\x00\x00\x00\x00\x01" + data
    assert made(stub).to_connect("t", b"\x00\x00\x00\x00\x01" + data)[1] == value


OTHERS = """
syntax = "proto3";
package com.x;
import "google/protobuf/wrappers.proto";
message First { string a = 1; }
message Event {
  message Inner { Level level = 1; map<string, Inner> more = 2; }
  enum Level { LOW = 0; HIGH = 5; }
  string id = 1;
  optional int32 maybe = 2;
  uint32 unsigned = 3;
  fixed64 large = 4;
  sint32 zigzag = 5;
  Level level = 6;
  oneof payload { string text = 7; int64 number = 8; }
  google.protobuf.StringValue wrapped = 9;
  map<string, int32> sizes = 10;
  repeated Level levels = 11;
  oneof other { bool yes = 12; }
}
"""


def event(**fields: Any) -> bytes:
    """A message of the type Event, written without the code under test."""
    file = FileDescriptorProto(name="e.proto", package="com.x", syntax="proto3")
    file.dependency.append("google/protobuf/wrappers.proto")
    file.message_type.add(name="Event")
    message, optional, repeated = file.message_type[0], 1, 3
    enum = message.enum_type.add(name="Level")
    enum.value.add(name="LOW", number=0)
    enum.value.add(name="HIGH", number=5)
    for name, number, kind in (
        ("id", 1, 9), ("maybe", 2, 5), ("unsigned", 3, 13), ("large", 4, 6), ("zigzag", 5, 17), ("level", 6, 14),
        ("text", 7, 9), ("number", 8, 3), ("wrapped", 9, 11), ("levels", 11, 14), ("yes", 12, 8),
    ):  # fmt: skip
        made = message.field.add(name=name, number=number, type=kind, label=optional)
        if kind in (11, 14):
            made.type_name = ".com.x.Event.Level" if kind == 14 else ".google.protobuf.StringValue"
    message.field[-2].label = repeated
    for name, members in (("payload", ("text", "number")), ("other", ("yes",)), ("_maybe", ("maybe",))):
        for made in message.field:
            if made.name in members:
                made.oneof_index, made.proto3_optional = len(message.oneof_decl), name == "_maybe"
        message.oneof_decl.add(name=name)
    entry = message.nested_type.add(name="SizesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=optional)
    entry.field.add(name="value", number=2, type=5, label=optional)
    message.field.add(name="sizes", number=10, type=11, label=repeated, type_name=".com.x.Event.SizesEntry")
    from google.protobuf import wrappers_pb2

    pool = DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    message_class = GetMessageClass(pool.FindMessageTypeByName("com.x.Event"))
    data: bytes = message_class(**fields).SerializeToString()
    return data


def test_messages_of_other_writers(stub: StubRegistry) -> None:
    stub.add("t-value", OTHERS.replace(", Inner> more", ", int32> more"), kind="PROTOBUF")
    message = event(
        id="a", unsigned=2**32 - 1, large=2**64 - 1, zigzag=-3, level=5, number=7, wrapped={"value": ""},
        sizes={"s": 1}, levels=[0, 5],
    )  # fmt: skip
    unwrapped = made(stub).to_connect("t", b"\x00\x00\x00\x00\x01\x02\x02" + message)[1]
    structs = made(stub, wrapper_for_raw_primitives="false")
    schema, value = structs.to_connect("t", b"\x00\x00\x00\x00\x01\x02\x02" + message)
    assert unwrapped == {**value, "wrapped": ""}
    assert value == {
        "payload_0": {"number": 7}, "other_1": None, "id": "a", "maybe": None, "unsigned": 2**32 - 1, "large": -1,
        "zigzag": -3, "level": "HIGH", "wrapped": {"value": ""}, "sizes": {"s": 1}, "levels": ["LOW", "HIGH"],
    }  # fmt: skip
    assert schema is not None
    enum = (("Enum", "Level"), ("Enum.LOW", "0"), ("Enum.HIGH", "5"))
    level = Schema(
        Type.STRING, True, name="Level", parameters=tuple((f"{NAMESPACE}.{key}", text) for key, text in enum)
    )
    assert schema.field("level") == tagged(level, 6)
    assert schema.field("unsigned") == tagged(Schema(Type.INT64, parameters=((f"{NAMESPACE}.Type", "uint32"),)), 3)
    union = Schema(Type.STRUCT, True, name=f"{NAMESPACE}.Union.payload", fields=(
        Field("text", tagged(STRING_SCHEMA, 7)), Field("number", tagged(INT64_SCHEMA, 8)),
    ))  # fmt: skip
    assert schema.fields[0] == Field("payload_0", union)
    written = made(stub).from_connect("u", schema.replace(name="com.x.Event"), value) or b""
    assert written[6:] == message


def test_options_change_schemas(stub: StubRegistry) -> None:
    stub.add("t-value", OTHERS.replace(", Inner> more", ", int32> more"), kind="PROTOBUF")
    data = b"\x00\x00\x00\x00\x01\x02\x02" + event(id="a", wrapped={"value": "w"}, number=7, level=9)
    wrapped = made(stub, wrapper_for_nullables="true", enhanced_protobuf_schema_support="true", flatten_unions="true")
    schema, value = wrapped.to_connect("t", data)
    assert schema is not None
    assert schema.name == "com.x.Event"
    assert (value["wrapped"], value["number"], value["text"]) == ("w", 7, None)
    assert value["level"] == "UNKNOWN_ENUM_VALUE_Level_9"
    assert schema.field("wrapped") == tagged(STRING_SCHEMA, 9)
    assert schema.field("id") == tagged(STRING_SCHEMA, 1, optional=False)
    optional = made(stub, optional_for_nullables="true", int_for_enums="true", generate_index_for_unions="false")
    schema, value = optional.to_connect("t", data)
    assert schema is not None
    assert (value["payload"], value["level"]) == ({"number": 7}, 9)
    assert schema.field("id") == tagged(STRING_SCHEMA, 1, optional=False)
    assert schema.field("maybe") == tagged(INT32_SCHEMA, 2)
    optional.from_connect("u", record(("a", OPTIONAL_STRING_SCHEMA), ("b", STRING_SCHEMA)), {"a": None, "b": "x"})
    assert "  optional string a = 1;\n  string b = 2;" in stub.schemas[-1]["schema"]
    scrubbing = made(stub, scrub_invalid_names="true", wrapper_for_nullables="true")
    scrubbing.from_connect("s", record(("a-b", OPTIONAL_STRING_SCHEMA), name="com.x-y.1"), {"a-b": "x"})
    assert "package com.x_y;" in stub.schemas[-1]["schema"]
    assert "message x1 {\n  google.protobuf.StringValue a_b = 1;" in stub.schemas[-1]["schema"]


def test_references_between_schemas(stub: StubRegistry) -> None:
    stub.add("inner", 'syntax = "proto3"; package a; message Inner { int32 n = 1; }', kind="PROTOBUF")
    outer = 'syntax = "proto3"; import "inner.proto"; import "gone/validate.proto"; message Outer { a.Inner i = 1; }'
    number = stub.add("outer", outer, [{"name": "inner.proto", "subject": "inner", "version": 1}], kind="PROTOBUF")
    assert number == 2
    assert made(stub).to_connect("t", b"\x00\x00\x00\x00\x02\x00\x0a\x02\x08\x05")[1] == {"i": {"n": 5}}


def test_the_latest_schema(stub: StubRegistry) -> None:
    schema = record(("n", INT32_SCHEMA))
    stub.add("t-value", 'syntax = "proto3"; package com.x; message A {} message Order { string m = 2; int32 n = 1; }',
             kind="PROTOBUF")  # fmt: skip
    data = made(stub, auto_register_schemas="false", use_latest_version="true").from_connect("t", schema, {"n": 5})
    assert data == b"\x00\x00\x00\x00\x01\x02\x02\x08\x05"
    assert made(stub, auto_register_schemas="false", use_schema_id="1").from_connect("other", schema, {"n": 5}) == data
    stub.add("u-value", 'syntax = "proto3"; package com.x; message Order { int32 n = 2; }', kind="PROTOBUF")
    with pytest.raises(DataError, match=r"n = 1 of com\.x\.Order does not fit the schema in the registry"):
        made(stub, auto_register_schemas="false", use_latest_version="true").from_connect("u", schema, {"n": 5})


def test_records_that_cannot_be_converted(stub: StubRegistry) -> None:
    converter = made(stub)
    assert converter.from_connect("t", STRING_SCHEMA, None) is None
    for schema, value, message in (
        (None, "a", "ProtobufConverter cannot convert a record without a schema"),
        (Schema(Type.ARRAY, values=STRING_SCHEMA), ["a"], "Unsupported root schema of type ARRAY"),
        (record(("n", INT32_SCHEMA)), {"n": 2**31}, "Failed to serialize Protobuf data from topic t"),
        (record(("a b", INT32_SCHEMA)), {"a b": 1}, "The Protobuf schema is invalid"),
    ):
        with pytest.raises(DataError, match=message):
            converter.from_connect("t", schema, value)
    recursive = stub.add("r", 'syntax = "proto3"; message Node { Node next = 1; }', kind="PROTOBUF")
    for data, message in (
        (b"text!x", "Unknown magic byte!"),
        (b"\x00\x00\x00\x00\x63\x00", "404 Schema not found"),
        (b"\x00" + recursive.to_bytes(4, "big") + b"\x00", "Node is recursive"),
        (b"\x00" + recursive.to_bytes(4, "big") + b"\x02\x0a", r"Invalid message indexes: \[5\]"),
    ):
        with pytest.raises(DataError, match=message):
            converter.to_connect("t", data)
    avro = stub.add("t-value", "long")
    with pytest.raises(DataError, match=f"Schema {avro} is AVRO, not PROTOBUF"):
        converter.to_connect("t", b"\x00" + avro.to_bytes(4, "big") + b"\x00")


def test_ten_thousand_records_have_the_bytes_of_googles_serialization(stub: StubRegistry) -> None:
    kinds = {Type.STRING: 9, Type.INT32: 5, Type.INT64: 3, Type.FLOAT64: 1, Type.BOOLEAN: 8}
    file = FileDescriptorProto(name="t.proto", package="com.example", syntax="proto3")
    message = file.message_type.add(name="Twenty")
    for number, field in enumerate(TWENTY.fields, 1):
        message.field.add(name=field.name, number=number, type=kinds[field.schema.type], label=1)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    kind = GetMessageClass(pool.FindMessageTypeByName("com.example.Twenty"))
    rows = list(records(10_000))
    expected = []
    for row in rows:
        own = kind()
        for name, value in row.items():
            setattr(own, name, value)
        expected.append(own.SerializeToString())
    converter, head = made(stub), b"\x00\x00\x00\x00\x01\x00"
    batch = converter.from_connect_batch("t", ValueBatch(TWENTY, rows))
    assert batch == [head + data for data in expected]
    assert [converter.from_connect("t", TWENTY, row) for row in rows[:500]] == batch[:500]
    read = converter.to_connect_batch("t", batch)
    assert read is not None
    assert list(read.rows) == rows
    assert [converter.to_connect("t", data)[1] for data in batch[:500]] == rows[:500]


def test_the_error_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)  # as if it were not installed
    with pytest.raises(ConfigError) as refused:
        ProtobufConverter().configure({"schema.registry.url": "http://x"}, False)
    assert str(refused.value) == MISSING
    assert "pip install 'headrace[protobuf]'" in MISSING


def test_texts_that_are_not_utf8(stub: StubRegistry) -> None:
    """As if Java had read and written them."""
    schema = Schema(Type.STRUCT, name="R", fields=(Field("f", STRING_SCHEMA),))
    converter = made(stub)
    assert (converter.from_connect("t", schema, {"f": "gr\udcfcn\ud800"}) or b"")[6:] == b"\n\x07gr\xef\xbf\xbdn?"
    written = converter.from_connect_batch("t", ValueBatch(schema, [{"f": "a"}, {"f": "\udcfc"}]))
    assert [data and data[6:] for data in written or ()] == [b"\n\x01a", b"\n\x03\xef\xbf\xbd"]
