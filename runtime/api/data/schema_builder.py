"""Building schemas step by step."""

from __future__ import annotations

from typing import Any

from runtime.api.data.schema import Field, Schema, Type
from runtime.api.data.validate import validate_value
from runtime.api.errors import DataError, SchemaBuilderError


class SchemaBuilder:
    """`SchemaBuilder.struct().name("person").field("name", STRING_SCHEMA).build()`; attributes can be set once.

    SchemaBuilderError for invalid calls: attributes set twice, fields without a name, arrays without elements.
    """

    def __init__(self, type_: Type, keys: Schema | None = None, values: Schema | None = None) -> None:
        self._type, self._keys, self._values = type_, keys, values
        self._set: dict[str, Any] = {}
        self._fields: dict[str, Schema] = {}
        self._parameters: dict[str, str] = {}

    @classmethod
    def struct(cls) -> SchemaBuilder:
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, values: Schema | None) -> SchemaBuilder:
        return cls(Type.ARRAY, values=_given(values, "valueSchema"))

    @classmethod
    def map(cls, keys: Schema | None, values: Schema | None) -> SchemaBuilder:
        return cls(Type.MAP, _given(keys, "keySchema"), _given(values, "valueSchema"))

    def optional(self) -> SchemaBuilder:
        return self._once("optional", True)

    def required(self) -> SchemaBuilder:
        return self._once("optional", False)

    def default(self, value: Any) -> SchemaBuilder:
        """What a null means. Say optional() before, where a default of None is meant."""
        if self._set.get("default") is not None:
            return self._once("default", value)
        try:
            validate_value(self.build(), value)
        except DataError as error:
            raise SchemaBuilderError("Invalid default value") from error
        return self._once("default", value)

    def name(self, name: str) -> SchemaBuilder:
        return self._once("name", name)

    def version(self, version: int) -> SchemaBuilder:
        return self._once("version", version)

    def doc(self, doc: str) -> SchemaBuilder:
        return self._once("doc", doc)

    def parameter(self, name: str, value: str) -> SchemaBuilder:
        self._parameters[name] = value
        return self

    def field(self, name: str | None, schema: Schema | None) -> SchemaBuilder:
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
