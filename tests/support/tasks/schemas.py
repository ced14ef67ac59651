"""Schemas that several unit tests share."""

from __future__ import annotations

from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.data.schema_builder import SchemaBuilder

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

LINE = Schema(Type.STRUCT, fields=(Field("line", STRING_SCHEMA), Field("n", Schema(Type.INT32, optional=True))))
