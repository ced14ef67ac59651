"""Responses of other workers, which may be anything: any member of the group can send one. Only those that have the
shape of the API's own are used.

The schemas are those of /openapi.json. Fields that a schema does not have are ignored, so that a newer worker can add
some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from runtime.rest.openapi.json_schema import Schema
from runtime.rest.openapi.schemas import SCHEMAS


class UnusableResponse(Exception):
    """The response of another worker is not JSON, or does not have the expected shape."""


def parsed(body: bytes, shape: str) -> Any:
    """The response in this body, which has the shape of this name in SCHEMAS. Raises UnusableResponse."""
    try:
        response = orjson.loads(body)
    except orjson.JSONDecodeError as e:
        raise UnusableResponse(f"it is not JSON: {e}") from None
    return checked(response, shape)


def checked(response: Any, shape: str) -> Any:
    """The parsed response, which has the shape of this name in SCHEMAS. Raises UnusableResponse."""
    if not _fits(response, SCHEMAS[shape]):
        raise UnusableResponse(f"it is not of the type {shape}")
    return response


def _fits(value: Any, schema: Schema) -> bool:
    if "$ref" in schema:
        return _fits(value, SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(_fits(value, option) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    return _TYPES[schema["type"]](value, schema)


def _is_object(value: Any, schema: Schema) -> bool:
    if not isinstance(value, dict) or not value.keys() >= set(schema.get("required", ())):
        return False
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    named = all(_fits(value[name], field) for name, field in properties.items() if name in value)
    if not named or not isinstance(others, dict):
        return named
    return all(_fits(part, others) for name, part in value.items() if name not in properties)


def _is_array(value: Any, schema: Schema) -> bool:
    return isinstance(value, list) and all(_fits(element, schema["items"]) for element in value)


def _is_whole(value: Any, _: Schema) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any, schema: Schema) -> bool:
    return isinstance(value, float) or _is_whole(value, schema)


_TYPES: Mapping[str, Callable[[Any, Schema], bool]] = {
    "object": _is_object,
    "array": _is_array,
    "string": lambda value, _: isinstance(value, str),
    "integer": _is_whole,
    "number": _is_number,
    "boolean": lambda value, _: isinstance(value, bool),
    "null": lambda value, _: value is None,
}
