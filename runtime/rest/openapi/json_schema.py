"""The parts of JSON Schemas."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
"""A value that Connect accepts as a string, in its original spelling."""
NOTHING: Schema = {"type": "null"}
OBJECT: Schema = {"type": "object"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, NOTHING]}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def strict(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """An object with these fields only; all are required except the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def object_with(*names: str) -> Schema:
    """An object with at least these fields."""
    return {"type": "object", "required": list(names)}
