"""Schemas as they stand in JSON envelopes."""

from __future__ import annotations

from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Field, Schema, Type
from runtime.converters.json_read import reader
from runtime.converters.json_write import WriteOptions, writer

_TYPES = {str(kind): kind for kind in Type}


def schema_json(schema: Schema | None, options: WriteOptions) -> dict[str, Any] | None:
    """The object behind "schema", its keys in Connect's order; None for no schema."""
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


def read_schema(found: Any, fill: bool = True) -> Schema:
    """The schema of an envelope; DataError when it is none."""
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(found["type"])
    if kind is None:
        raise DataError(f"Unknown schema type: {found['type']}")
    schema = Schema(
        kind,
        optional=found.get("optional") is True,
        name=_of_type(found, "name", str),
        version=_of_type(found, "version", int),
        doc=_of_type(found, "doc", str),
        keys=_part(found, "keys", "Map schema did not specify the key type", fill) if kind is Type.MAP else None,
        values=_values(kind, found, fill),
        fields=_fields(found, fill) if kind is Type.STRUCT else (),
        parameters=_parameters(found),
    )
    default = found.get("default")
    return schema if default is None else schema.but(default=reader(schema, fill)(default))


def _of_type(found: dict[str, Any], name: str, kind: type) -> Any:
    """An attribute; one of another type counts as missing."""
    value = found.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _part(found: dict[str, Any], name: str, message: str, fill: bool) -> Schema:
    if found.get(name) is None:
        raise DataError(message)
    return read_schema(found[name], fill)


def _values(kind: Type, found: dict[str, Any], fill: bool) -> Schema | None:
    if kind is Type.MAP:
        return _part(found, "values", "Map schema did not specify the value type", fill)
    if kind is Type.ARRAY:
        return _part(found, "items", "Array schema did not specify the element type", fill)
    return None


def _parameters(found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    parameters = found.get("parameters")
    if not isinstance(parameters, dict):
        return ()
    if not all(isinstance(value, str) for value in parameters.values()):
        raise DataError("Schema parameters must have string values.")
    return tuple(parameters.items())


def _fields(found: dict[str, Any], fill: bool) -> tuple[Field, ...]:
    fields = found.get("fields")
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str):
            raise DataError("Struct schema's field name not specified properly")
    return tuple(Field(field["field"], read_schema(field, fill)) for field in fields)
