"""Schemas in JSON envelopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_builder import SchemaBuilder
from runtime.api.errors import DataError
from runtime.converters.json.read import reader
from runtime.converters.json.write import WriteOptions, writer

_TYPES = {str(kind): kind for kind in Type}


def schema_json(schema: Schema | None, options: WriteOptions) -> dict[str, Any] | None:
    """The JSON object of a schema, with Connect's order of keys; None without a schema."""
    if schema is None:
        return None
    found: dict[str, Any] = {"type": str(schema.type)}
    if schema.type is Type.STRUCT:
        fields = [(field.name, schema_json(field.schema, options)) for field in schema.fields]
        found["fields"] = [{**(inner or {}), "field": name} for name, inner in fields]
    elif schema.type is Type.MAP:
        found["keys"], found["values"] = schema_json(schema.keys, options), schema_json(schema.values, options)
    elif schema.type is Type.ARRAY:
        found["items"] = schema_json(schema.values, options)
    found["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if (value := getattr(schema, name)) is not None:
            found[name] = value
    if schema.parameters:
        found["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        found["default"] = writer(schema, options)(schema.default)
    return found


def read_schema(found: Any, fill: bool = True) -> Schema | None:
    """The schema of an envelope, None for null; DataError or SchemaBuilderError if it is invalid."""
    if found is None:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(found["type"])
    if kind is None:
        raise DataError(f"Unknown schema type: {found['type']}")
    builder = _builder(kind, found, fill)
    if found.get("optional") is True:
        builder.optional()
    if (name := _of_type(found, "name", str)) is not None:
        builder.name(name)
    if (version := _of_type(found, "version", int)) is not None:
        builder.version((version + (1 << 31)) % (1 << 32) - (1 << 31))
    if (doc := _of_type(found, "doc", str)) is not None:
        builder.doc(doc)
    for name, value in _parameters(found):
        builder.parameter(name, value)
    if "default" in found:
        builder.default(reader(builder.build(), fill)(found["default"]))
    return builder.build()


def _builder(kind: Type, found: dict[str, Any], fill: bool) -> SchemaBuilder:
    if kind is Type.ARRAY:
        if found.get("items") is None:
            raise DataError("Array schema did not specify the element type")
        return SchemaBuilder.array(read_schema(found["items"], fill))
    if kind is Type.MAP:
        for part, what in (("keys", "key"), ("values", "value")):
            if part not in found:
                raise DataError(f"Map schema did not specify the {what} type")
        return SchemaBuilder.map(read_schema(found["keys"], fill), read_schema(found["values"], fill))
    builder = SchemaBuilder(kind)
    for name, schema in _fields(found, fill) if kind is Type.STRUCT else ():
        builder.field(name, schema)
    return builder


def _of_type(found: dict[str, Any], name: str, kind: type) -> Any:
    """An attribute; None if it has another type."""
    value = found.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _parameters(found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    parameters = found.get("parameters")
    if not isinstance(parameters, dict):
        return ()
    if not all(isinstance(value, str) for value in parameters.values()):
        raise DataError("Schema parameters must have string values.")
    return tuple(parameters.items())


def _fields(found: dict[str, Any], fill: bool) -> Iterator[tuple[str, Schema | None]]:
    fields = found.get("fields")
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str):
            raise DataError("Struct schema's field name not specified properly")
        yield field["field"], read_schema(field, fill)
