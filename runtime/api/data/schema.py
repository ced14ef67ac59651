"""Schemas of the values in records (Java: org.apache.kafka.connect.data.Schema).

Values are plain Python objects: int, float, bool, str, bytes, list, dict; `decimal.Decimal`, `datetime.date`,
`datetime.time` and `datetime.datetime` (in UTC) for logical types. A struct is a dict of its fields by name; only its
schema distinguishes it from a map. `Struct` is a dict that validates its fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from runtime.api.errors import NullPointerError, SchemaBuilderError


class Type(StrEnum):
    """The types of Connect's data, with their names in JSON envelopes."""

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

    @property
    def primitive(self) -> bool:
        """Whether values have no elements or fields."""
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct: its name and schema."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Schema:
    """The type of a value and its metadata. Immutable.

    Create a schema once and share it between records: converters and transformations cache objects derived from it.
    """

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
    _exact_default: Any = field(default=None, init=False, repr=False)
    _by_name: dict[str, Schema] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Distinguishes defaults that are equal in Python: 0.0 and -0.0, 1.0 and 1.00."""
        if self.default is not None:
            object.__setattr__(self, "_exact_default", _exact(self.default))

    def __hash__(self) -> int:
        """Omits the default, which may be a list or dict; equality still compares it."""
        return hash((self.type, self.optional, self.name, self.version, tuple(f.name for f in self.fields)))

    def field(self, name: str) -> Schema | None:
        """The schema of a field; None if the struct has no such field."""
        if not self._by_name and self.fields:
            self._by_name.update((f.name, f.schema) for f in self.fields)
        return self._by_name.get(name)

    @property
    def java_text(self) -> str:
        """The schema as Java prints it: `Schema{INT32}`, or `Schema{a.Name:STRUCT}` if it has a name."""
        return f"Schema{{{self.type.name}}}" if self.name is None else f"Schema{{{self.name}:{self.type.name}}}"

    def parameter(self, name: str) -> str | None:
        """The value of a parameter; None if the schema does not have it."""
        return dict(self.parameters).get(name)

    def replace(self, **changes: Any) -> Schema:
        """A copy of the schema with these attributes changed."""
        return dataclasses.replace(self, **changes)

    def element(self) -> Schema:
        """The schema of an array's elements or a map's values; NullPointerError if it is not set."""
        if self.values is None:
            raise NullPointerError(f"The {self.type} schema has no schema for its values")
        return self.values

    def key(self) -> Schema:
        """The schema of a map's keys; NullPointerError if it is not set."""
        if self.keys is None:
            raise NullPointerError(f"The {self.type} schema has no schema for its keys")
        return self.keys


def _exact(value: Any) -> Any:
    """The text of numbers, which may differ for equal numbers; None for other values."""
    if isinstance(value, float | Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return tuple(map(_exact, value))
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    return None


def struct_schema(fields: Mapping[str, Schema], like: Schema | None = None) -> Schema:
    """The schema of a struct with these fields; name, version, doc and parameters are those of `like`.

    Raises SchemaBuilderError for an empty field name, as Java's SchemaBuilder does."""
    if "" in fields:
        raise SchemaBuilderError("fieldName cannot be null.")
    named = tuple(Field(name, schema) for name, schema in fields.items())
    if like is None:
        return Schema(Type.STRUCT, fields=named)
    return Schema(
        Type.STRUCT, name=like.name, version=like.version, doc=like.doc, parameters=like.parameters, fields=named
    )


STRING_SCHEMA = Schema(Type.STRING)
OPTIONAL_STRING_SCHEMA = Schema(Type.STRING, optional=True)
BYTES_SCHEMA = Schema(Type.BYTES)
OPTIONAL_BYTES_SCHEMA = Schema(Type.BYTES, optional=True)
INT8_SCHEMA = Schema(Type.INT8)
INT16_SCHEMA = Schema(Type.INT16)
INT32_SCHEMA = Schema(Type.INT32)
INT64_SCHEMA = Schema(Type.INT64)
FLOAT32_SCHEMA = Schema(Type.FLOAT32)
FLOAT64_SCHEMA = Schema(Type.FLOAT64)
BOOLEAN_SCHEMA = Schema(Type.BOOLEAN)
OPTIONAL_INT32_SCHEMA = Schema(Type.INT32, optional=True)
OPTIONAL_INT64_SCHEMA = Schema(Type.INT64, optional=True)
