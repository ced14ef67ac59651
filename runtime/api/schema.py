"""Connect's data model: schemas of the values that records carry.

Values are plain Python: int, float, bool, str, bytes, list, dict. A struct is a dict of its fields by name; its schema
is what tells it from a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Type(StrEnum):
    """The types of Connect's data, spelled as in JSON envelopes."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Schema:
    """What a value is. Immutable, so that one instance serves millions of records."""

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    keys: Schema | None = None  # of a map
    values: Schema | None = None  # of a map or an array
    fields: tuple[Field, ...] = ()  # of a struct
    parameters: tuple[tuple[str, str], ...] = ()


STRING_SCHEMA = Schema(Type.STRING)
OPTIONAL_STRING_SCHEMA = Schema(Type.STRING, optional=True)
BYTES_SCHEMA = Schema(Type.BYTES)
OPTIONAL_BYTES_SCHEMA = Schema(Type.BYTES, optional=True)
