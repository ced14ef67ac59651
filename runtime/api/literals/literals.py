"""Conversion of values to the text of a header and back: `17` is a number, `[1,2]` an array, `2019-08-23` a date."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data.class_names import java_class
from runtime.api.data.java_text import float_text, iso_text, map_order
from runtime.api.data.schema import STRING_SCHEMA, Schema, Type
from runtime.api.errors import DataError
from runtime.api.literals.parser import Literal, LiteralParser, NotALiteral

__all__ = ["Literal", "header_text", "parse_literal"]

_FIRST = frozenset('+-tfn[{"')
"""First characters of literals, apart from digits and blanks."""


def header_text(value: Any, schema: Schema | None = None) -> str:
    """The text of a header: a string unchanged, other values as parse_literal() accepts them. DataError if a value has
    no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return _embedded(value, schema)


def _embedded(value: Any, schema: Schema | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, float):
        return float_text(value, single=schema is not None and schema.type is Type.FLOAT32)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, dt.date | dt.time):
        return iso_text(value)
    return _container(value, schema)


def _container(value: Any, schema: Schema | None) -> str:
    keys, values = (None, None) if schema is None else (schema.keys, schema.values)
    if isinstance(value, list | tuple):
        return f"[{','.join(_embedded(item, values) for item in value)}]"
    if isinstance(value, Mapping) and schema is not None and schema.type is Type.STRUCT:
        return f"{{{','.join(_field(value, field.name, field.schema) for field in schema.fields)}}}"
    if isinstance(value, Mapping):
        pairs = (f"{_embedded(key, keys)}:{_embedded(value[key], values)}" for key in map_order(value, keys))
        return f"{{{','.join(pairs)}}}"
    raise DataError(f"Failed to serialize unexpected value type {java_class(value)}: {value}")


def _field(value: Mapping[str, Any], name: str, schema: Schema) -> str:
    """A null field has the text of its default."""
    field_value = value.get(name)
    return f"{_embedded(name, None)}:{_embedded(schema.default if field_value is None else field_value, schema)}"


def parse_literal(text: str) -> Literal:
    """The schema and value of a text; a text that is not another literal is a string."""
    first = text[:1]
    if not first or not (first in _FIRST or first <= " " or first.isdigit()):
        return STRING_SCHEMA, text
    try:
        return LiteralParser(text).parse(embedded=False)
    except (NotALiteral, RecursionError):
        return STRING_SCHEMA, text
