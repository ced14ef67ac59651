"""Structs that validate their fields against a schema (Java: Struct)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import validate_struct, validate_value
from runtime.api.errors import DataError


class Struct(dict[str, Any]):
    """A dict of field values that validates each field as it is set. Records may carry plain dicts too."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema.type}")
        super().__init__()
        self.schema = schema
        for name, value in (values or {}).items():
            self.put(name, value)

    def put(self, name: str, value: Any) -> Struct:
        """Sets a field; DataError if there is no such field or the value does not match its schema."""
        validate_value(self._schema_of(name), value, name)
        self[name] = value
        return self

    def value(self, name: str) -> Any:
        """The field's value, or its default if it is null; DataError if there is no such field."""
        value = self.get(name)
        return self._schema_of(name).default if value is None else value

    def validate(self) -> None:
        """Raises DataError if a required field without a default is null."""
        validate_struct(self.schema, self)

    def _schema_of(self, name: str) -> Schema:
        schema = self.schema.field(name)
        if schema is None:
            raise DataError(f"{name} is not a valid field name")
        return schema


def field_value(schema: Schema, struct: Mapping[str, Any], name: str, fill: bool = True) -> Any:
    """A field of any struct, or its default if it is null and `fill` is set; DataError if there is no such field."""
    field = schema.field(name)
    if field is None:
        raise DataError(f"{name} is not a valid field name")
    value = struct.get(name)
    return field.default if value is None and fill else value
