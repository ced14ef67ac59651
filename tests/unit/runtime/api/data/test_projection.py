"""Projection of values from one schema to another."""

from __future__ import annotations

import pytest

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
