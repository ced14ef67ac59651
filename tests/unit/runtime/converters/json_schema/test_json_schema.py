"""JsonSchemaConverter with a stub of the schema registry, against jsonschema-rs."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from functools import partial
from typing import Any

import jsonschema_rs
import pytest

from runtime.api.data.columns import ValueBatch
from runtime.api.data.logical import decimal_schema
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)
from runtime.api.errors import ConfigError, DataError
from runtime.converters.json_schema.json_schema import JsonSchemaConverter
from tests.support.generated import TWENTY, records
from tests.support.registry_converters import ADDRESS, DETAILED, HOME, VALUE, record, registry_converter
from tests.support.servers.schema_registry import StubRegistry

ENUM, ONE_OF = "io.confluent.connect.json.Enum", "io.confluent.connect.json.OneOf"
HEAD = b"\x00\x00\x00\x00\x01"


made = partial(registry_converter, JsonSchemaConverter)


def optional(schema: Schema) -> Schema:
    return schema.replace(optional=True)


COLORS = STRING_SCHEMA.replace(parameters=((ENUM, ""), (f"{ENUM}.red", "red"), (f"{ENUM}.blue", "blue")))
UNION = Schema(Type.STRUCT, name=ONE_OF, fields=(
    Field(f"{ONE_OF}.field.0", optional(STRING_SCHEMA)), Field(f"{ONE_OF}.field.1", optional(INT32_SCHEMA)),
    Field(f"{ONE_OF}.field.2", optional(ADDRESS)),
))  # fmt: skip
EVERYTHING = record(*DETAILED.items(), ("color", COLORS), ("any", UNION), version=7, doc="all there is")
VALUES = {**VALUE, "color": "blue", "any": {f"{ONE_OF}.field.2": HOME}}


def test_every_type_round_trips(stub: StubRegistry) -> None:
    data = made(stub).from_connect("t", EVERYTHING, VALUES)
    assert data is not None
    assert data[:5] == HEAD
    schema, value = made(stub).to_connect("t", data)
    assert value == VALUES
    assert schema == EVERYTHING
    batch = made(stub).from_connect_batch("t", ValueBatch(EVERYTHING, [VALUES, VALUES]))
    assert batch == [data, data]
    read = made(stub).to_connect_batch("t", [data, data])
    assert read is not None
    assert (read.schema, list(read.rows)) == (EVERYTHING, [VALUES, VALUES])


def test_the_registered_schema(stub: StubRegistry) -> None:
    data = made(stub).from_connect("t", EVERYTHING, VALUES) or b""
    assert stub.schemas[0]["schemaType"] == "JSON"
    document = json.loads(stub.schemas[0]["schema"])
    jsonschema_rs.validate(document, json.loads(data[5:]))
    given = document["properties"]
    assert (document["title"], document["type"], document["connect.version"]) == ("com.x.Order", "object", 7)
    assert given["i8"] == {"type": "integer", "connect.type": "int8", "connect.index": 0}
    assert given["f64"] == {"type": "number", "connect.type": "float64", "default": 1.5, "connect.index": 5}
    assert given["price"] == {
        "title": "org.apache.kafka.connect.data.Decimal", "type": "string", "connect.type": "bytes",
        "connect.version": 1, "connect.parameters": {"scale": "2"}, "connect.index": 9,
    }  # fmt: skip
    assert given["at"]["oneOf"][0] == {"type": "null"}
    assert given["at"]["connect.index"] == 12
    assert "connect.index" not in given["at"]["oneOf"][1]
    assert given["color"] == {"enum": ["red", "blue"], "connect.index": 19}
    assert [member.get("connect.index") for member in given["any"]["oneOf"]] == [0, 1, 2]
    assert given["by_number"]["oneOf"][1]["items"]["properties"]["key"]["connect.index"] == 0


def test_nulls(stub: StubRegistry) -> None:
    converter = made(stub)
    assert converter.from_connect("t", None, None) is None
    assert converter.from_connect("t", STRING_SCHEMA, None) is None
    assert converter.from_connect("t", OPTIONAL_STRING_SCHEMA, None) == HEAD + b"null"
    assert converter.to_connect("t", HEAD + b"null")[1] is None
    schema = record(("a", STRING_SCHEMA), ("b", OPTIONAL_STRING_SCHEMA), ("c", STRING_SCHEMA.replace(default="d")))
    written = converter.from_connect("t", schema, {})
    assert (written or b"")[5:] == b'{"b":null,"c":"d"}'
    assert converter.to_connect("t", written)[1] == {"a": None, "b": None, "c": "d"}
    kept = made(stub, ignore_default_for_nullables="true").from_connect("t", schema, {"c": None})
    assert (kept or b"")[5:] == b'{"b":null}'
    with pytest.raises(DataError, match="Invalid null value for required STRING field"):
        converter.to_connect("t", (written or b"")[:5] + b'{"a":null}')
    with pytest.raises(DataError, match="JsonSchemaConverter cannot convert a record without a schema"):
        converter.from_connect("t", None, {"a": 1})


@pytest.mark.parametrize("given", [{"b": {}}, {"list": [{}]}, {"map": {"k": {}}}], ids=str)
def test_a_struct_in_a_struct_lacks_no_required_field(stub: StubRegistry, given: dict[str, Any]) -> None:
    """Java validates a struct when it becomes a part of another one, but not the outermost one."""
    inner = {"type": "object", "properties": {"a": {"type": "array", "items": TEXT}}}
    by_key = {"type": "object", "connect.type": "map", "additionalProperties": inner}
    fields = {"b": inner, "list": {"type": "array", "items": inner}, "map": by_key}
    stub.add("any", {"type": "object", "properties": fields}, kind="JSON")
    converter = made(stub)
    assert converter.to_connect("t", HEAD + b"{}")[1] == {"b": None, "list": None, "map": None}
    with pytest.raises(DataError, match='null used for required field: "a", schema type: ARRAY'):
        converter.to_connect("t", HEAD + json.dumps(given).encode())


TEXT = {"type": "string"}
DOCUMENTS: list[tuple[Any, Schema, Any, Any]] = [
    ({"type": "integer"}, INT64_SCHEMA, 5, 5),
    ({"type": "number", "title": "n", "description": "d"}, FLOAT64_SCHEMA.replace(name="n", doc="d"), 5, 5.0),
    ({"type": ["string", "null"]}, OPTIONAL_STRING_SCHEMA, None, None),
    ({"type": "string", "format": "date"}, STRING_SCHEMA, "2024-01-01", "2024-01-01"),
    ({"type": "string", "enum": ["red", "blue"]}, COLORS, "red", "red"),
    ({"const": 5}, STRING_SCHEMA.replace(parameters=((ENUM, ""), (f"{ENUM}.5", "5"))), "5", "5"),
    ({"oneOf": [{"type": "string"}]}, STRING_SCHEMA, "a", "a"),
    ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, optional(BOOLEAN_SCHEMA), None, None),
    (
        {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "boolean"}}},
        record(("a", BOOLEAN_SCHEMA), ("b", STRING_SCHEMA), name=None), {"a": True}, {"a": True, "b": None},
    ),
    (
        {"properties": {"a": {"$ref": "#/definitions/Inner"}, "b": {"$ref": "#inner"}},
         "definitions": {"Inner": {"$id": "#inner", "title": "Inner", "properties": {"n": {"type": "integer"}}}}},
        record(*((n, record(("n", INT64_SCHEMA), name="Inner")) for n in "ab"), name=None),
        {"a": {"n": 1}, "b": {"n": 2}}, {"a": {"n": 1}, "b": {"n": 2}},
    ),
    (
        {"allOf": [{"properties": {"x": TEXT}, "required": ["x"]}, {"properties": {"y": TEXT}}]},
        record(("x", STRING_SCHEMA), ("y", STRING_SCHEMA), name=None), {"x": "a", "y": "b"}, {"x": "a", "y": "b"},
    ),
    (
        {"oneOf": [{"type": "integer"}, {"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
        Schema(Type.STRUCT, name=ONE_OF, fields=(
            Field(f"{ONE_OF}.field.0", optional(INT64_SCHEMA)),
            Field(f"{ONE_OF}.field.1", optional(record(("a", STRING_SCHEMA), name=None))),
            Field(f"{ONE_OF}.field.2", optional(record(("b", STRING_SCHEMA), name=None))),
        )),
        {"b": "x"}, {f"{ONE_OF}.field.2": {"b": "x"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "schema", "given", "value"), DOCUMENTS, ids=lambda value: str(value)[:40])
def test_schemas_of_other_writers(stub: StubRegistry, document: Any, schema: Schema, given: Any, value: Any) -> None:
    stub.add("any", document, kind="JSON")
    assert made(stub).to_connect("t", HEAD + json.dumps(given).encode()) == (schema, value)


def test_options(stub: StubRegistry) -> None:
    document = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    stub.add("any", document, kind="JSON")
    loose = made(stub, use_optional_for_nonrequired="true").to_connect("t", HEAD + b'{"a":"x"}')
    assert loose[0] == record(("a", STRING_SCHEMA), ("b", OPTIONAL_STRING_SCHEMA), name=None)
    schema = record(("price", decimal_schema(2)))
    numeric = made(stub, decimal_format="numeric", object_additional_properties="false")
    data = numeric.from_connect("t", schema, {"price": Decimal("1.50")}) or b""
    assert data[5:] == b'{"price":1.50}'
    assert json.loads(stub.schemas[-1]["schema"])["additionalProperties"] is False
    assert numeric.to_connect("t", data)[1] == {"price": Decimal("1.50")}
    general = made(stub, generalized_sum_type_support="true")
    parameter = "org.apache.kafka.connect.data.Enum"
    colors = STRING_SCHEMA.replace(parameters=((parameter, ""), (f"{parameter}.red", "0"), (f"{parameter}.blue", "1")))
    data = general.from_connect("t", colors, "blue") or b""
    assert json.loads(stub.schemas[-1]["schema"])["enum"] == ["red", "blue"]
    assert general.to_connect("t", data)[0] == colors.replace(version=2)


def test_references_between_schemas(stub: StubRegistry) -> None:
    stub.add("inner", {"type": "object", "properties": {"n": {"type": "integer"}}}, kind="JSON")
    outer = {"$id": "http://x/outer.json", "properties": {"i": {"$ref": "inner.json"}}}
    references = [{"name": "inner.json", "subject": "inner", "version": 1}]
    stub.add("outer", outer, references, kind="JSON")
    assert made(stub).to_connect("t", b"\x00\x00\x00\x00\x02" + b'{"i":{"n":5}}')[1] == {"i": {"n": 5}}


def test_validation(stub: StubRegistry) -> None:
    stub.add("any", {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}, kind="JSON")
    strict = made(stub, json_fail_invalid_schema="true")
    assert strict.to_connect("t", HEAD + b'{"n":9}')[1] == {"n": 9}
    with pytest.raises(DataError, match="JSON does not match its schema at n: 10 is greater than the maximum of 9"):
        strict.to_connect("t", HEAD + b'{"n":10}')
    assert made(stub).to_connect("t", HEAD + b'{"n":10}')[1] == {"n": 10}
    latest = made(stub, json_fail_invalid_schema="true", auto_register_schemas="false", use_latest_version="true")
    stub.add("u-value", {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}, kind="JSON")
    with pytest.raises(DataError, match="JSON does not match its schema"):
        latest.from_connect("u", record(("n", INT64_SCHEMA)), {"n": 10})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "has no type, which Connect does not support"),
        ({"type": "null"}, "Unsupported schema type null"),
        ({"type": "array"}, "Array schema did not specify the items type"),
        ({"properties": {"next": {"$ref": "#"}}}, "recursive"),
        ({"properties": {"a": {"$ref": "#/definitions/gone"}}}, "refers to #/definitions/gone, which does not exist"),
    ],
)
def test_schemas_that_connect_cannot_express(stub: StubRegistry, document: Any, message: str) -> None:
    stub.add("any", document, kind="JSON")
    with pytest.raises(DataError, match=message):
        made(stub).to_connect("t", HEAD + b"{}")


def test_ten_thousand_records_are_valid(stub: StubRegistry) -> None:
    rows, converter = list(records(10_000)), made(stub)
    batch = converter.from_connect_batch("t", ValueBatch(TWENTY, rows))
    assert batch is not None
    validator = jsonschema_rs.validator_for(json.loads(stub.schemas[0]["schema"]))
    payloads = [json.loads((data or b"")[5:]) for data in batch]
    assert payloads == rows
    assert all(map(validator.is_valid, payloads))
    assert [converter.from_connect("t", TWENTY, row) for row in rows[:500]] == list(batch[:500])
    others = [HEAD + json.dumps(row).encode() for row in rows]
    read = converter.to_connect_batch("t", others)
    assert read is not None
    assert list(read.rows) == rows
    assert [converter.to_connect("t", data)[1] for data in others[:500]] == rows[:500]


def test_keys_have_the_same_bytes_as_in_java(stub: StubRegistry) -> None:
    schema = Schema(Type.MAP, keys=STRING_SCHEMA, values=INT32_SCHEMA)
    data = made(stub, True).from_connect("t", schema, {"b": 1, "a": 2}) or b""
    assert data[5:] == b'{"a":2,"b":1}'


def test_the_error_names_the_missing_extra(stub: StubRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)  # as if it were not installed
    made(stub)
    with pytest.raises(ConfigError, match=r"json.fail.invalid.schema needs .* pip install 'headrace\[json-schema\]'"):
        made(stub, json_fail_invalid_schema="true")
