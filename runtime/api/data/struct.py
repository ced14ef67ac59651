"""A struct that knows its schema and checks what is put into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import validate_struct, validate_value
from runtime.api.errors import DataError


class Struct(dict[str, Any]):
    """A dict of its fields' values. Records may carry plain dicts as well: this is the careful way to make one."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema.type}")
        super().__init__()
        self.schema = schema
        for name, value in (values or {}).items():
            self.put(name, value)

    def put(self, name: str, value: Any) -> Struct:
        """Set a field; DataError when there is no such field or the value is not what its schema says."""
        validate_value(self._schema_of(name), value, name)
        self[name] = value
        return self

    def value(self, name: str) -> Any:
        """The field's value, or its default when it has none."""
        value = self.get(name)
        return self._schema_of(name).default if value is None else value

    def validate(self) -> None:
        """DataError when a field that has to have a value has none."""
        validate_struct(self.schema, self)

    def _schema_of(self, name: str) -> Schema:
        schema = self.schema.field(name)
        if schema is None:
            raise DataError(f"{name} is not a valid field name")
        return schema


def field_value(schema: Schema, struct: Mapping[str, Any], name: str, fill: bool = True) -> Any:
    """A field of any struct; `fill`: its default where there is no value. DataError when there is no such field."""
    found = schema.field(name)
    if found is None:
        raise DataError(f"{name} is not a valid field name")
    value = struct.get(name)
    return found.default if value is None and fill else value
