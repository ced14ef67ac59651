"""Conversion of JSON to values of a schema, as in Confluent's JsonSchemaConverter. A missing field differs from null:
it may be required."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import BOUNDS
from runtime.api.errors import DataError
from runtime.converters.json.read import Reader, elements, json_kind, object_reader, scalar_reader, with_nulls
from runtime.converters.json_schema.names import is_union

_MISSING: Any = object()


def value_reader(schema: Schema, nested: bool = False) -> Reader:
    """A function that converts JSON; DataError for JSON that does not fit. It returns the default for null.

    `nested`: the value is, or is part of, a field of a struct. Java then requires the fields of its structs, which may
    be missing in the outermost struct."""
    return with_nulls(schema, _not_null(schema, nested), schema.default)


def _not_null(schema: Schema, nested: bool) -> Reader:
    if schema.type is Type.ARRAY:
        item = value_reader(schema.element(), nested)
        return lambda value: [item(element) for element in elements(value)]
    if schema.type is Type.MAP:
        return _map(schema, nested)
    if schema.type is Type.STRUCT:
        return _union(schema) if is_union(schema) else _struct(schema, nested)
    return scalar_reader(schema)


def _map(schema: Schema, nested: bool) -> Reader:
    keys, values = value_reader(schema.key(), nested), value_reader(schema.element(), nested)
    if schema.key().type is not Type.STRING or schema.key().optional:
        return lambda value: {keys(entry.get("key")): values(entry.get("value")) for entry in _entries(value)}
    return object_reader(values)


def _entries(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise DataError(
            f"Maps with non-string fields should be encoded as JSON array of objects, but found {json_kind(value)}"
        )
    for entry in value:
        if not isinstance(entry, dict):
            raise DataError(f"Found invalid map entry instead of object: {json_kind(entry)}")
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
    return value


def _struct(schema: Schema, nested: bool) -> Reader:
    plan = [(field.name, value_reader(field.schema, nested=True), field.schema.default) for field in schema.fields]
    required = {f.name: f.schema.type for f in schema.fields if nested and _is_required(f.schema)}

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {json_kind(value)}")
        made = {}
        for name, field, default in plan:
            own = value.get(name, _MISSING)
            made[name] = default if own is _MISSING else field(own)
        for name, kind in required.items():
            if made[name] is None:
                raise DataError(f'Invalid value: null used for required field: "{name}", schema type: {kind.name}')
        return made

    return read


def _is_required(schema: Schema) -> bool:
    return not schema.optional and schema.default is None


def _union(schema: Schema) -> Reader:
    """The first alternative whose type fits, or the struct with the most fields in common."""
    plan = [(f.name, _fits(f.schema), f.schema, value_reader(f.schema, nested=True)) for f in schema.fields]

    def read(value: Any) -> dict[str, Any]:
        best, chosen = 0, None
        for name, fits, own, convert in plan:
            if fits(value):
                return {name: convert(value)}
            common = _common(own, value)
            if common > best:
                best, chosen = common, (name, convert)
        if chosen is None:
            raise DataError("Did not find matching oneof field for data")
        return {chosen[0]: chosen[1](value)}

    return read


def _fits(schema: Schema) -> Callable[[Any], bool]:
    """Whether JSON has the type of a schema that is not a struct. Bytes are texts in JSON, and never fit."""
    if schema.type in BOUNDS:
        return lambda value: type(value) is int
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return lambda value: type(value) in (int, float, Decimal)
    kinds: dict[Type, tuple[type, ...]] = {
        Type.BOOLEAN: (bool,), Type.STRING: (str,), Type.BYTES: (float, Decimal), Type.ARRAY: (list,),
        Type.MAP: (dict, list), Type.STRUCT: (),
    }  # fmt: skip
    accepted = kinds[schema.type]
    return lambda value: type(value) in accepted


def _common(schema: Schema, value: Any) -> int:
    """The number of fields that a struct and an object have in common, at all levels."""
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        return 0
    common = [field for field in schema.fields if field.name in value]
    return len(common) + sum(_common(field.schema, value[field.name]) for field in common)
