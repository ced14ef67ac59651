"""A fluent builder of schemas (Java: SchemaBuilder)."""

from __future__ import annotations

from typing import Any

from runtime.api.data.schema import Field, Schema, Type
from runtime.api.data.validate import validate_value
from runtime.api.errors import DataError, SchemaBuilderError


class SchemaBuilder:
    """`SchemaBuilder.struct().name("person").field("name", STRING_SCHEMA).build()`

    Methods raise SchemaBuilderError for an attribute that is already set, a field without a name or schema, and an
    array or map without a schema for its elements.
    """

    def __init__(self, type_: Type, keys: Schema | None = None, values: Schema | None = None) -> None:
        self._type, self._keys, self._values = type_, keys, values
        self._set: dict[str, Any] = {}
        self._fields: dict[str, Schema] = {}
        self._parameters: dict[str, str] = {}

    @classmethod
    def struct(cls) -> SchemaBuilder:
        """A builder of a struct; add its fields with field()."""
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, values: Schema | None) -> SchemaBuilder:
        """A builder of an array of these values."""
        return cls(Type.ARRAY, values=_given(values, "valueSchema"))

    @classmethod
    def map(cls, keys: Schema | None, values: Schema | None) -> SchemaBuilder:
        """A builder of a map from these keys to these values."""
        return cls(Type.MAP, _given(keys, "keySchema"), _given(values, "valueSchema"))

    def optional(self) -> SchemaBuilder:
        """Values may be null."""
        return self._once("optional", True)

    def required(self) -> SchemaBuilder:
        """Values must not be null (the default)."""
        return self._once("optional", False)

    def default(self, value: Any) -> SchemaBuilder:
        """Sets the value that replaces a null. Call optional() first if the default is None."""
        if self._set.get("default") is not None:
            return self._once("default", value)
        try:
            validate_value(self.build(), value)
        except DataError as error:
            raise SchemaBuilderError("Invalid default value") from error
        return self._once("default", value)

    def name(self, name: str) -> SchemaBuilder:
        """Sets the schema's name."""
        return self._once("name", name)

    def version(self, version: int) -> SchemaBuilder:
        """Sets the schema's version."""
        return self._once("version", version)

    def doc(self, doc: str) -> SchemaBuilder:
        """Sets the schema's documentation."""
        return self._once("doc", doc)

    def parameter(self, name: str, value: str) -> SchemaBuilder:
        """Sets a parameter; it may be set again."""
        self._parameters[name] = value
        return self

    def field(self, name: str | None, schema: Schema | None) -> SchemaBuilder:
        """Adds a field to a struct."""
        if self._type is not Type.STRUCT:
            raise SchemaBuilderError(f"Cannot create fields on type {self._type.name}")
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if schema is None:
            raise SchemaBuilderError(f"fieldSchema for field {name} cannot be null.")
        if name in self._fields:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        self._fields[name] = schema
        return self

    def build(self) -> Schema:
        """The schema; the builder may be used further."""
        fields = tuple(Field(name, schema) for name, schema in self._fields.items())
        parameters = tuple(self._parameters.items())
        return Schema(
            self._type, keys=self._keys, values=self._values, fields=fields, parameters=parameters, **self._set
        )

    def _once(self, name: str, value: Any) -> SchemaBuilder:
        """Sets an attribute; the same object may be set again."""
        before = self._set.get(name)
        if before is not None and before is not value:
            shown = "defaultValue" if name == "default" else name
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: {shown} has already been set.")
        self._set[name] = value
        return self


def _given(schema: Schema | None, name: str) -> Schema:
    if schema is None:
        raise SchemaBuilderError(f"{name} cannot be null.")
    return schema
