"""ValueToKey with paths to nested fields, as in Kafka 4.4: results are those of Apache's class."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import ConfigError, DataError
from runtime.transforms.value_to_key import ValueToKey

INNER = Schema(
    Type.STRUCT,
    name="inner",
    optional=True,
    fields=(
        Field("x", Schema(Type.INT32, optional=True, default=3)),
        Field("y", Schema(Type.INT32, default=4)),
        Field("z.z", Schema(Type.STRING, optional=True)),
    ),
)
VALUE = Schema(
    Type.STRUCT,
    fields=(
        Field("a", INNER),
        Field("a.x", Schema(Type.FLOAT64)),
        Field("b", Schema(Type.STRING)),
        Field("list", Schema(Type.ARRAY, values=INNER)),
    ),
)
FULL = {"a": {"x": 7, "y": 9, "z.z": "zz"}, "a.x": 1.5, "b": "bb", "list": []}
NULLS = {"a": {"x": None, "y": 9, "z.z": None}, "a.x": 1.5, "b": "bb", "list": []}
EMPTY: dict[str, Any] = {"a": None, "a.x": 1.5, "b": "bb", "list": []}


def key_of(fields: str, value: Any, schema: Schema | None = VALUE, fill: bool = True) -> tuple[Schema | None, Any]:
    transformation = ValueToKey()
    settings = {"field.syntax.version": "V2", "replace.null.with.default": str(fill)}
    transformation.configure({"fields": fields, **settings})
    record = transformation.apply(SinkRecord("t", 0, None, "old", schema, value, 1, None, 0, None, None))
    assert record is not None
    return record.key_schema, record.key


@pytest.mark.parametrize(
    "fields, value, expected",
    [
        ("a.x,b", FULL, {"a.x": 7, "b": "bb"}),
        ("`a.x`", FULL, {"`a.x`": 1.5}),
        ("a.`z.z`,a.x,`a.x`", FULL, {"a.`z.z`": "zz", "a.x": 7, "`a.x`": 1.5}),
        ("a", FULL, {"a": FULL["a"]}),
        ("a.x,a.x", FULL, {"a.x": 7}),
        ("a.x", NULLS, {"a.x": 3}),
        ("a.x", EMPTY, {"a.x": None}),
    ],
)
def test_fields_of_structs(fields: str, value: Any, expected: dict[str, Any]) -> None:
    schema, key = key_of(fields, value)
    assert key == expected
    assert schema is not None
    assert [field.name for field in schema.fields] == list(expected)


def test_the_schema_is_that_of_the_nested_field() -> None:
    schema, _ = key_of("a.x,a.y", FULL)
    assert schema is not None
    assert [field.schema for field in schema.fields] == [field.schema for field in INNER.fields[:2]]


def test_defaults_are_kept_as_nulls_on_request() -> None:
    assert key_of("a.x", NULLS, fill=False)[1] == {"a.x": None}


@pytest.mark.parametrize(
    "fields, value, expected",
    [
        ("a.x,b", FULL, {"a.x": 7, "b": "bb"}),
        ("a.nope,nope.x,nope", FULL, {"a.nope": None, "nope.x": None, "nope": None}),
        ("a.x", EMPTY, {"a.x": None}),
    ],
)
def test_fields_of_maps(fields: str, value: Any, expected: dict[str, Any]) -> None:
    assert key_of(fields, value, None) == (None, expected)


@pytest.mark.parametrize(
    "fields, value, schema, message",
    [
        ("a.nope", FULL, VALUE, "Field does not exist: a.nope"),
        ("b.x", FULL, VALUE, "Cannot look up fields on non-struct type"),
        ("list.x", FULL, VALUE, "Cannot look up fields on non-struct type"),
        ("a.y", EMPTY, VALUE, 'Invalid value: null used for required field: "a.y", schema type: INT32'),
        ("b.x", FULL, None, "Only Map objects supported in absence of schema for [nested field access], found: "),
    ],
)
def test_records_that_are_refused(fields: str, value: Any, schema: Schema | None, message: str) -> None:
    with pytest.raises(DataError) as e:
        key_of(fields, value, schema)
    assert str(e.value).startswith(message)


def test_settings_that_are_refused() -> None:
    with pytest.raises(ConfigError, match="Incomplete backtick pair"):
        key_of("`a", FULL)
    with pytest.raises(ConfigError, match=r"Invalid value V3 for configuration field\.syntax\.version"):
        ValueToKey().configure({"fields": "a", "field.syntax.version": "V3"})


def test_names_with_dots_are_names_of_fields_by_default() -> None:
    transformation = ValueToKey()
    transformation.configure({"fields": "a.x"})
    record = transformation.apply(SinkRecord("t", 0, None, None, VALUE, FULL, 1, None, 0, None, None))
    assert record is not None
    assert record.key == {"a.x": 1.5}
    assert "field.syntax.version" not in ValueToKey.config_def
