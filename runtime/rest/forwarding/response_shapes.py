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
        found = orjson.loads(body)
    except orjson.JSONDecodeError as e:
        raise UnusableResponse(f"it is not JSON: {e}") from None
    return checked(found, shape)


def checked(found: Any, shape: str) -> Any:
    """The parsed response, which has the shape of this name in SCHEMAS. Raises UnusableResponse."""
    if not _fits(found, SCHEMAS[shape]):
        raise UnusableResponse(f"it is not of the type {shape}")
    return found


def _fits(found: Any, schema: Schema) -> bool:
    if "$ref" in schema:
        return _fits(found, SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(_fits(found, one) for one in schema["anyOf"])
    if "enum" in schema:
        return found in schema["enum"]
    return _TYPES[schema["type"]](found, schema)


def _is_object(found: Any, schema: Schema) -> bool:
    if not isinstance(found, dict) or not found.keys() >= set(schema.get("required", ())):
        return False
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    named = all(_fits(found[name], one) for name, one in properties.items() if name in found)
    if not named or not isinstance(others, dict):
        return named
    return all(_fits(value, others) for name, value in found.items() if name not in properties)


def _is_array(found: Any, schema: Schema) -> bool:
    return isinstance(found, list) and all(_fits(one, schema["items"]) for one in found)


def _is_whole(found: Any, _: Schema) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def _is_number(found: Any, schema: Schema) -> bool:
    return isinstance(found, float) or _is_whole(found, schema)


_TYPES: Mapping[str, Callable[[Any, Schema], bool]] = {
    "object": _is_object,
    "array": _is_array,
    "string": lambda found, _: isinstance(found, str),
    "integer": _is_whole,
    "number": _is_number,
    "boolean": lambda found, _: isinstance(found, bool),
    "null": lambda found, _: found is None,
}
