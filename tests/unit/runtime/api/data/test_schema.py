"""Equality of schemas."""

from __future__ import annotations

from runtime.api.data.schema import (
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from runtime.api.data.schema_builder import SchemaBuilder
from tests.support.tasks.schemas import PERSON


def test_schemas_are_equal_by_value() -> None:
    again = SchemaBuilder.struct().name("person").version(2).doc("someone").parameter("p", "q")
    again.field("name", STRING_SCHEMA).field("age", Schema(Type.INT32, default=7)).field("nick", OPTIONAL_STRING_SCHEMA)
    assert again.build() == PERSON
    assert hash(again.build()) == hash(PERSON)
    assert PERSON.replace(version=3) != PERSON
    assert PERSON.field("name") is STRING_SCHEMA
    assert PERSON.field("zz") is None
