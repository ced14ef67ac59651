"""Names of the Java classes that correspond to Python values, for error messages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data.schema import Schema, Type

_CLASSES = (
    (bool, "java.lang.Boolean"),
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    ((bytes, bytearray, memoryview), "[B"),
    ((list, tuple), "java.util.ArrayList"),
    (Mapping, "java.util.HashMap"),
    (Decimal, "java.math.BigDecimal"),
    ((dt.date, dt.time), "java.util.Date"),
)
_WHOLE = {
    Type.INT8: (1 << 7, "java.lang.Byte"),
    Type.INT16: (1 << 15, "java.lang.Short"),
    Type.INT32: (1 << 31, "java.lang.Integer"),
}


def java_class(value: Any, schema: Schema | None = None) -> str:
    """`java.lang.Long`, `java.util.HashMap`, …; `null` for None. The schema determines the class of a number."""
    if value is None:
        return "null"
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        return "java.math.BigInteger"
    if schema is not None and type(value) is int and schema.type in _WHOLE:
        bound, name = _WHOLE[schema.type]
        if -bound <= value < bound:
            return name
    if schema is not None and type(value) is float and schema.type is Type.FLOAT32:
        return "java.lang.Float"
    if schema is not None and isinstance(value, Mapping) and schema.type is Type.STRUCT:
        return "org.apache.kafka.connect.data.Struct"
    return next((name for kind, name in _CLASSES if isinstance(value, kind)), type(value).__qualname__)
