"""Whether a value is what its schema says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api import logical
from runtime.api.errors import DataError
from runtime.api.schema import Schema, Type

BOUNDS = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
"""The first number that a signed type cannot hold any more."""

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
_LOGICAL_KINDS = {
    logical.DECIMAL: Decimal,
    logical.DATE: dt.date,
    logical.TIME: dt.time,
    logical.TIMESTAMP: dt.datetime,
}


def validate_value(schema: Schema, value: Any, where: str = "") -> None:
    """DataError, naming the field `where`, when the value or a part of it is not what the schema says."""
    if value is None:
        if not schema.optional:
            raise DataError(
                f"Invalid value: null used for required field: {_named(where)}, schema type: {_spell(schema)}"
            )
        return
    if not _fits(schema, value):
        found = type(value).__name__
        raise DataError(f"Invalid value of type {found} for {_named(where)}: its schema says {_spell(schema)}")
    if schema.type is Type.ARRAY:
        for item in value:
            validate_value(schema.element(), item, where)
    elif schema.type is Type.MAP:
        for key, item in value.items():
            validate_value(schema.key(), key, where)
            validate_value(schema.element(), item, where)
    elif schema.type is Type.STRUCT:
        validate_struct(schema, value)


def validate_struct(schema: Schema, value: Mapping[str, Any]) -> None:
    """Every field has a value, a default, or need not have one."""
    for field in schema.fields:
        found = value.get(field.name)
        if found is not None or (field.schema.default is None and not field.schema.optional):
            validate_value(field.schema, found, field.name)


def _fits(schema: Schema, value: Any) -> bool:
    name = logical.logical_name(schema)
    if name is not None:
        if name == logical.DATE and isinstance(value, dt.datetime):
            return False
        return isinstance(value, _LOGICAL_KINDS[name])
    if schema.type in BOUNDS:
        bound = BOUNDS[schema.type]
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if isinstance(value, bool):
        return schema.type is Type.BOOLEAN
    return isinstance(value, _KINDS[schema.type])


def _named(where: str) -> str:
    return f'"{where}"' if where else "the value"


def _spell(schema: Schema) -> str:
    return schema.type.name if schema.name is None else f"{schema.name}:{schema.type.name}"
