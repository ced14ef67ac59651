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
    node: dict[str, Any] = {"type": str(schema.type)}
    if schema.type is Type.STRUCT:
        fields = [(field.name, schema_json(field.schema, options)) for field in schema.fields]
        node["fields"] = [{**(inner or {}), "field": name} for name, inner in fields]
    elif schema.type is Type.MAP:
        node["keys"], node["values"] = schema_json(schema.keys, options), schema_json(schema.values, options)
    elif schema.type is Type.ARRAY:
        node["items"] = schema_json(schema.values, options)
    node["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if (value := getattr(schema, name)) is not None:
            node[name] = value
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = writer(schema, options)(schema.default)
    return node


def read_schema(node: Any, fill: bool = True) -> Schema | None:
    """The schema of an envelope, None for null; DataError or SchemaBuilderError if it is invalid."""
    if node is None:
        return None
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(node["type"])
    if kind is None:
        raise DataError(f"Unknown schema type: {node['type']}")
    builder = _builder(kind, node, fill)
    if node.get("optional") is True:
        builder.optional()
    if (name := _of_type(node, "name", str)) is not None:
        builder.name(name)
    if (version := _of_type(node, "version", int)) is not None:
        builder.version((version + (1 << 31)) % (1 << 32) - (1 << 31))
    if (doc := _of_type(node, "doc", str)) is not None:
        builder.doc(doc)
    for name, value in _parameters(node):
        builder.parameter(name, value)
    if "default" in node:
        builder.default(reader(builder.build(), fill)(node["default"]))
    return builder.build()


def _builder(kind: Type, node: dict[str, Any], fill: bool) -> SchemaBuilder:
    if kind is Type.ARRAY:
        if node.get("items") is None:
            raise DataError("Array schema did not specify the element type")
        return SchemaBuilder.array(read_schema(node["items"], fill))
    if kind is Type.MAP:
        for part, what in (("keys", "key"), ("values", "value")):
            if part not in node:
                raise DataError(f"Map schema did not specify the {what} type")
        return SchemaBuilder.map(read_schema(node["keys"], fill), read_schema(node["values"], fill))
    builder = SchemaBuilder(kind)
    for name, schema in _fields(node, fill) if kind is Type.STRUCT else ():
        builder.field(name, schema)
    return builder


def _of_type(node: dict[str, Any], name: str, kind: type) -> Any:
    """An attribute; None if it has another type."""
    value = node.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _parameters(node: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    parameters = node.get("parameters")
    if not isinstance(parameters, dict):
        return ()
    if not all(isinstance(value, str) for value in parameters.values()):
        raise DataError("Schema parameters must have string values.")
    return tuple(parameters.items())


def _fields(node: dict[str, Any], fill: bool) -> Iterator[tuple[str, Schema | None]]:
    fields = node.get("fields")
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str):
            raise DataError("Struct schema's field name not specified properly")
        yield field["field"], read_schema(field, fill)
