"""What transformations demand of the values they are given, in the words of Connect's errors."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Schema, Type

_JAVA = (
    (bool, "java.lang.Boolean"),
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    (bytes, "[B"),
    (list, "java.util.ArrayList"),
    (dict, "java.util.HashMap"),
    (Decimal, "java.math.BigDecimal"),
    ((dt.date, dt.time), "java.util.Date"),
)


def java_class(value: Any) -> str:
    """The Java class that holds such a value; null for None."""
    if value is None:
        return "null"
    return next((name for kind, name in _JAVA if isinstance(value, kind)), type(value).__qualname__)


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """A value without a schema that has fields."""
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {java_class(value)}")


def require_struct(schema: Schema, value: Any, purpose: str) -> Mapping[str, Any]:
    """A value with a schema that has fields."""
    if schema.type is Type.STRUCT and (type(value) is dict or isinstance(value, Mapping)):
        return value
    found = java_class(value)
    raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
