"""Copies structs: replaces nulls with the defaults of their fields, and refuses the values that Java refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError
from runtime.api.data.schema import Field, Schema
from runtime.api.data.validate import validate_value
from runtime.api.errors import SchemaBuilderError


class StructCopy:
    """Copies the fields that two schemas have in common. If `fill` is set, nulls become the default of their field.
    Otherwise a required field with a default may be null in the old struct, but not in the new one."""

    __slots__ = ("_defaults", "_needed")

    def __init__(self, schema: Schema, fill: bool, into: Schema | None = None) -> None:
        common = [(field, old) for field in (into or schema).fields if (old := schema.field(field.name)) is not None]
        given = [(field, old) for field, old in common if old.default is not None]
        self._defaults = [(field.name, old.default) for field, old in given if fill]
        self._needed = [field for field, old in given if not fill and not old.optional]

    @property
    def changes_values(self) -> bool:
        """Whether copying can change or refuse a field."""
        return bool(self._defaults or self._needed)

    def row(self, struct: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the fields of one struct; DataError for a null in a required field."""
        new = {**struct}
        for name, default in self._defaults:
            if new.get(name) is None:
                new[name] = default
        for field in self._needed:
            if new.get(field.name) is None:
                validate_value(field.schema, None, field.name)
        return new

    def columns(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Like row(), for a batch of structs; MixedBatchError if one of them is refused."""
        new = {**columns}
        for name, default in self._defaults:
            new[name] = fill_nulls(new[name], default)
        if any(None in new[field.name] for field in self._needed):
            raise MixedBatchError
        return new


def fill_nulls(column: Column, default: Any) -> Column:
    if default is None:
        return column
    if type(column) is ConstantColumn:
        return ConstantColumn(default, len(column)) if column.value is None else column
    return [default if value is None else value for value in column] if None in column else column


def with_fields(schema: Schema, fields: Iterable[Field]) -> Schema:
    """The schema with other fields; SchemaBuilderError for an empty field name."""
    named = tuple(fields)
    if any(not field.name for field in named):
        raise SchemaBuilderError("fieldName cannot be null.")
    return schema.replace(fields=named)
