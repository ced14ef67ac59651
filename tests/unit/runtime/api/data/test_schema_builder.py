"""SchemaBuilder and Struct."""

from __future__ import annotations

import pytest

from runtime.api.data.schema import (
    INT8_SCHEMA,
    Type,
)
from runtime.api.data.schema_builder import SchemaBuilder
from runtime.api.data.struct import Struct, field_value
from runtime.api.errors import DataError, SchemaBuilderError
from tests.support.tasks.schemas import PERSON


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


def test_the_builder_refuses_invalid_calls() -> None:
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder(Type.STRING).name("a").name("b")
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder.struct().field("a", INT8_SCHEMA).field("a", INT8_SCHEMA)
    with pytest.raises(SchemaBuilderError):
        SchemaBuilder(Type.STRING).field("a", INT8_SCHEMA)
    with pytest.raises(DataError):
        SchemaBuilder(Type.INT8).default(300)
