"""Conversion of default values between Avro's JSON and Connect."""

from __future__ import annotations

import math
from typing import Any

from runtime.api.data.logical import from_plain, logical_name, to_plain
from runtime.api.data.schema import Field, Schema, Type
from runtime.converters.avro.names import UNION

_JSON: dict[str, Any] = {
    "boolean": bool, "int": int, "long": int, "float": (int, float), "double": (int, float), "string": str,
    "bytes": str, "enum": str, "fixed": str, "array": list, "map": dict, "record": dict, "error": dict,
    "int8": int, "int16": int, "int32": int, "int64": int, "struct": dict,
}  # fmt: skip


def default_branch(branches: list[tuple[str, str]], default: Any) -> str:
    """The name of the first branch of a union that accepts the JSON default. `branches`: names, and types in Avro's or
    Connect's terms."""
    for name, kind in branches:
        if isinstance(default, _JSON.get(kind, object)) and isinstance(default, bool) == (kind == "boolean"):
            return name
    return branches[0][0]


def union_fields(schema: Schema) -> list[Field]:
    """The branches of a union with the default's branch first, as Avro requires."""
    default = schema.default or {}
    return sorted(schema.fields, key=lambda field: default.get(field.name) is None) if default else list(schema.fields)


def default_json(schema: Schema, value: Any) -> Any:
    """A default value as JSON in an Avro schema; bytes are Latin-1 text."""
    if value is None:
        return None
    if schema.name == UNION:
        first = union_fields(schema)[0]
        return default_json(first.schema, value.get(first.name))
    if logical_name(schema) is not None:
        value = to_plain(schema, value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # as Jackson
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("latin-1")
    if schema.type is Type.ARRAY:
        return [default_json(schema.element(), element) for element in value]
    if schema.type is Type.MAP:
        if schema.key().type is not Type.STRING or schema.key().optional:
            return [[default_json(schema.key(), k), default_json(schema.element(), v)] for k, v in value.items()]
        return {key: default_json(schema.element(), element) for key, element in value.items()}
    if schema.type is Type.STRUCT:
        return {field.name: default_json(field.schema, value.get(field.name)) for field in schema.fields}
    return value


def default_value(schema: Schema, value: Any) -> Any:
    """The inverse of default_json()."""
    if value is None:
        return None
    if schema.name == UNION:
        branch = default_branch([(field.name, field.schema.type) for field in schema.fields], value)
        return {field.name: default_value(field.schema, value) for field in schema.fields if field.name == branch}
    if schema.type is Type.BYTES and isinstance(value, str):
        value = value.encode("latin-1")
    if logical_name(schema) is not None:
        return from_plain(schema, value)
    if schema.type is Type.ARRAY:
        return [default_value(schema.element(), element) for element in value]
    if schema.type is Type.MAP:
        return {default_value(schema.key(), k): default_value(schema.element(), v) for k, v in _entries(value)}
    if schema.type is Type.STRUCT:
        return {field.name: default_value(field.schema, value.get(field.name)) for field in schema.fields}
    return float(value) if schema.type in (Type.FLOAT32, Type.FLOAT64) else value


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Keys and values of a map, which is an object, or an array of pairs or records if the keys are not texts."""
    if isinstance(value, dict):
        return list(value.items())
    return [(entry["key"], entry["value"]) if isinstance(entry, dict) else tuple(entry) for entry in value]
