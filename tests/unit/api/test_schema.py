"""Schemas, structs, projection."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from runtime.api.data.logical import DATE_SCHEMA, TIMESTAMP_SCHEMA, decimal_from_bytes, decimal_schema, decimal_to_bytes
from runtime.api.data.projection import ProjectionError, project
from runtime.api.data.schema import (
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from runtime.api.data.schema_builder import SchemaBuilder
from runtime.api.data.struct import Struct, field_value
from runtime.api.data.validate import validate_value
from runtime.api.errors import DataError, SchemaBuilderError

PERSON = (
    SchemaBuilder.struct()
    .name("person")
    .version(2)
    .doc("someone")
    .parameter("p", "q")
    .field("name", STRING_SCHEMA)
    .field("age", SchemaBuilder(Type.INT32).default(7).build())
    .field("nick", OPTIONAL_STRING_SCHEMA)
    .build()
)


def test_builder_and_struct_of_the_developer_guide() -> None:
    struct = Struct(PERSON).put("name", "Barbara Liskov").put("age", 75)
    struct.validate()
    assert struct == {"name": "Barbara Liskov", "age": 75}
    assert (PERSON.name, PERSON.version, PERSON.doc, PERSON.parameter("p")) == ("person", 2, "someone", "q")
    assert Struct(PERSON, {"name": "x"}).value("age") == 7
    assert field_value(PERSON, {}, "age", fill=False) is None
    for broken in (lambda: Struct(PERSON).validate(), lambda: struct.put("zz", 1), lambda: struct.put("age", "x")):
        with pytest.raises(DataError):
            broken()


def test_builder_refuses() -> None:
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder(Type.STRING).name("a").name("b")
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder.struct().field("a", INT8_SCHEMA).field("a", INT8_SCHEMA)
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder(Type.STRING).field("a", INT8_SCHEMA)
    with pytest.raises(DataError):
        SchemaBuilder(Type.INT8).default(300)


def test_schemas_are_equal_by_value() -> None:
    again = SchemaBuilder.struct().name("person").version(2).doc("someone").parameter("p", "q")
    again.field("name", STRING_SCHEMA).field("age", Schema(Type.INT32, default=7)).field("nick", OPTIONAL_STRING_SCHEMA)
    assert again.build() == PERSON
    assert hash(again.build()) == hash(PERSON)
    assert PERSON.replace(version=3) != PERSON
    assert PERSON.field("name") is STRING_SCHEMA
    assert PERSON.field("zz") is None


def test_validation_of_values() -> None:
    validate_value(Schema(Type.ARRAY, values=OPTIONAL_STRING_SCHEMA), ["a", None])
    validate_value(Schema(Type.MAP, keys=STRING_SCHEMA, values=INT8_SCHEMA), {"a": 1})
    validate_value(DATE_SCHEMA, dt.date(2020, 1, 1))
    for schema, value in (
        (INT8_SCHEMA, 128), (INT8_SCHEMA, True), (INT8_SCHEMA, None), (STRING_SCHEMA, 1), (DATE_SCHEMA, 5),
        (DATE_SCHEMA, dt.datetime(2020, 1, 1)), (TIMESTAMP_SCHEMA, dt.date(2020, 1, 1)), (PERSON, {"name": 1}),
    ):  # fmt: skip
        with pytest.raises(DataError):
            validate_value(schema, value)


@pytest.mark.parametrize("text", ["0.00", "1.28", "-1.28", "-1.29", "12345678901234567890.12", "0.01"])
def test_decimals(text: str) -> None:
    schema = decimal_schema(2)
    data = decimal_to_bytes(schema, Decimal(text))
    assert decimal_from_bytes(schema, data) == Decimal(text)
    assert len(data) == (int(Decimal(text).scaleb(2)) ** 2).bit_length() // 16 + 1 or len(data) <= 10
    with pytest.raises(DataError, match="mismatching scale"):
        decimal_to_bytes(schema, Decimal("1.5"))


def test_projection() -> None:
    old = SchemaBuilder.struct().field("a", INT32_SCHEMA).field("gone", STRING_SCHEMA).build()
    new = SchemaBuilder.struct().field("a", INT64_SCHEMA).field("new", Schema(Type.STRING, default="d")).build()
    assert project(old, {"a": 1, "gone": "x"}, new) == {"a": 1, "new": "d"}
    assert project(INT32_SCHEMA, 1, Schema(Type.FLOAT64)) == 1.0
    assert project(OPTIONAL_STRING_SCHEMA, None, Schema(Type.STRING, default="d")) == "d"
    arrays = Schema(Type.ARRAY, values=INT8_SCHEMA), Schema(Type.ARRAY, values=INT64_SCHEMA)
    assert project(arrays[0], [1], arrays[1]) == [1]
    for source, value, target in (
        (INT64_SCHEMA, 1, INT32_SCHEMA), (STRING_SCHEMA, "x", INT8_SCHEMA),
        (OPTIONAL_STRING_SCHEMA, "x", STRING_SCHEMA),
        (STRING_SCHEMA, "x", Schema(Type.STRING, name="n")), (new, {"a": 1}, old),
    ):  # fmt: skip
        with pytest.raises(ProjectionError):
            project(source, value, target)
