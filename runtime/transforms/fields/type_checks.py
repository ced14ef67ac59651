"""Checks that a value has fields, with Connect's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.class_names import java_class
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """The value, if it is a map (a value without a schema); otherwise raises DataError."""
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {java_class(value)}")


def require_struct(schema: Schema, value: Any, purpose: str) -> Mapping[str, Any]:
    """The value, if it and its schema are a struct; otherwise raises DataError."""
    if schema.type is Type.STRUCT and (type(value) is dict or isinstance(value, Mapping)):
        return value
    actual = java_class(value, schema)
    raise DataError(f"Only Struct objects supported for [{purpose}], found: {actual}")
