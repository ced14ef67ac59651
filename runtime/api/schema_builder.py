"""Building schemas step by step."""

from __future__ import annotations

from typing import Any

from runtime.api.errors import SchemaBuilderError
from runtime.api.schema import Field, Schema, Type
from runtime.api.validate import validate_value


class SchemaBuilder:
    """`SchemaBuilder.struct().name("person").field("name", STRING_SCHEMA).build()`; what is set once stays."""

    def __init__(self, type_: Type, keys: Schema | None = None, values: Schema | None = None) -> None:
        self._type, self._keys, self._values = type_, keys, values
        self._set: dict[str, Any] = {}
        self._fields: dict[str, Schema] = {}
        self._parameters: dict[str, str] = {}

    @classmethod
    def struct(cls) -> SchemaBuilder:
        return cls(Type.STRUCT)

    @classmethod
    def array(cls, values: Schema) -> SchemaBuilder:
        return cls(Type.ARRAY, values=values)

    @classmethod
    def map(cls, keys: Schema, values: Schema) -> SchemaBuilder:
        return cls(Type.MAP, keys, values)

    def optional(self) -> SchemaBuilder:
        return self._once("optional", True)

    def required(self) -> SchemaBuilder:
        return self._once("optional", False)

    def default(self, value: Any) -> SchemaBuilder:
        """What a null means. Say optional() before, where a default of None is meant."""
        validate_value(self.build(), value)
        return self._once("default", value)

    def name(self, name: str) -> SchemaBuilder:
        return self._once("name", name)

    def version(self, version: int) -> SchemaBuilder:
        return self._once("version", version)

    def doc(self, doc: str) -> SchemaBuilder:
        return self._once("doc", doc)

    def parameter(self, name: str, value: str) -> SchemaBuilder:
        if name in self._parameters:
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: parameter {name} has already been set.")
        self._parameters[name] = value
        return self

    def field(self, name: str, schema: Schema) -> SchemaBuilder:
        if self._type is not Type.STRUCT:
            raise SchemaBuilderError(f"Cannot create fields on type {self._type}")
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
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
        if name in self._set:
            raise SchemaBuilderError(f"Invalid SchemaBuilder call: {name} has already been set.")
        self._set[name] = value
        return self
