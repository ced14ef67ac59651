"""Schemas as they stand in JSON envelopes."""

from __future__ import annotations

from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Field, Schema, Type

_TYPES = {str(kind): kind for kind in Type}


def schema_json(schema: Schema) -> dict[str, Any]:
    """The object behind "schema", its keys in Connect's order."""
    found: dict[str, Any] = {"type": str(schema.type)}
    if schema.type is Type.STRUCT:
        found["fields"] = [{**schema_json(field.schema), "field": field.name} for field in schema.fields]
    elif schema.type is Type.MAP:
        assert schema.keys is not None and schema.values is not None
        found["keys"], found["values"] = schema_json(schema.keys), schema_json(schema.values)
    elif schema.type is Type.ARRAY:
        assert schema.values is not None
        found["items"] = schema_json(schema.values)
    found["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if (value := getattr(schema, name)) is not None:
            found[name] = value
    if schema.parameters:
        found["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        from runtime.converters.json_values import to_payload

        found["default"] = to_payload(schema, schema.default, fill=False)
    return found


def read_schema(found: Any) -> Schema:
    """The schema of an envelope; DataError when it is none."""
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(found["type"])
    if kind is None:
        raise DataError(f"Unknown schema type: {found['type']}")
    return Schema(
        kind,
        optional=found.get("optional") is True,
        default=found.get("default"),
        name=_of_type(found, "name", str),
        version=_of_type(found, "version", int),
        doc=_of_type(found, "doc", str),
        keys=read_schema(_part(found, "keys", "Map")) if kind is Type.MAP else None,
        values=_values(kind, found),
        fields=_fields(found) if kind is Type.STRUCT else (),
        parameters=tuple((str(k), str(v)) for k, v in (found.get("parameters") or {}).items()),
    )


def _of_type(found: dict[str, Any], name: str, kind: type) -> Any:
    value = found.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise DataError(f"Invalid schema {name}: {value!r}")
    return value


def _part(found: dict[str, Any], name: str, of: str) -> Any:
    if not isinstance(found.get(name), dict):
        raise DataError(f"{of} schema did not specify its {name}")
    return found[name]


def _values(kind: Type, found: dict[str, Any]) -> Schema | None:
    if kind is Type.MAP:
        return read_schema(_part(found, "values", "Map"))
    return read_schema(_part(found, "items", "Array")) if kind is Type.ARRAY else None


def _fields(found: dict[str, Any]) -> tuple[Field, ...]:
    fields = found.get("fields")
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("field"), str):
            raise DataError("Struct schema's field name not specified properly")
    return tuple(Field(field["field"], read_schema(field)) for field in fields)
