"""Validation of values against their schemas (Java: ConnectSchema.validateValue)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data import logical
from runtime.api.data.class_names import java_class
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError

BOUNDS = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
"""The smallest positive number that a signed integer type cannot hold."""

_KINDS: dict[Type, type | tuple[type, ...]] = {
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: Mapping,
    Type.STRUCT: Mapping,
}
_LOGICAL_KINDS: dict[str | None, type] = {
    logical.DECIMAL: Decimal,
    logical.DATE: dt.date,
    logical.TIME: dt.time,
    logical.TIMESTAMP: dt.datetime,
}


def validate_value(schema: Schema, value: Any, where: str | None = None) -> None:
    """Raises DataError if the value, or a part of it, does not match the schema; `where` is the name of its field."""
    _validate(schema, value, "value" if where is None else f'field: "{where}"')


def _validate(schema: Schema, value: Any, location: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {location}, schema type: {schema.type.name}")
        return
    if not _fits(schema, value):
        named = "" if schema.name is None else f' "{schema.name}"'
        raise DataError(
            f"Invalid Java object for schema{named} with type {schema.type.name}: "
            f"class {java_class(value, schema)} for {location}"
        )
    if schema.type is Type.ARRAY:
        element = f"element of array {location}"
        inner = _given(schema.values, element)
        for item in value:
            _validate(inner, item, element)
    elif schema.type is Type.MAP:
        at_key, at_value = f"key of map {location}", f"value of map {location}"
        keys, values = _given(schema.keys, at_key), _given(schema.values, at_value)
        for key, item in value.items():
            _validate(keys, key, at_key)
            _validate(values, item, at_value)
    elif schema.type is Type.STRUCT:
        validate_struct(schema, value)


def _given(schema: Schema | None, location: str) -> Schema:
    if schema is None:
        raise DataError(f"No schema defined for {location}")
    return schema


def validate_struct(schema: Schema, value: Mapping[str, Any]) -> None:
    """Raises DataError if a field does not match its schema; null is valid for optional fields and those with a
    default."""
    for field in schema.fields:
        field_value = value.get(field.name)
        if field_value is not None or (field.schema.default is None and not field.schema.optional):
            validate_value(field.schema, field_value, field.name)


def _fits(schema: Schema, value: Any) -> bool:
    """For a logical type, its name alone determines the valid classes."""
    name = schema.name
    if name in _LOGICAL_KINDS:
        if name == logical.DATE and isinstance(value, dt.datetime):
            return False
        return isinstance(value, _LOGICAL_KINDS[name])
    if schema.type in BOUNDS:
        bound = BOUNDS[schema.type]
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if isinstance(value, bool):
        return schema.type is Type.BOOLEAN
    return isinstance(value, _KINDS[schema.type])
