"""What transformations demand of the values they are given, in the words of Connect's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.class_names import java_class as java_class
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """A value without a schema that has fields."""
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {java_class(value)}")


def require_struct(schema: Schema, value: Any, purpose: str) -> Mapping[str, Any]:
    """A value with a schema that has fields."""
    if schema.type is Type.STRUCT and (type(value) is dict or isinstance(value, Mapping)):
        return value
    found = java_class(value, schema)
    raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
