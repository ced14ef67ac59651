"""JSON Schemas of the types of `runtime.herder.responses`, so that a field of a response is declared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

from runtime.rest.openapi.json_schema import FLAG, NUMBER, OBJECT, TEXT, Schema, array, mapping, nullable, ref, strict

_SIMPLE: dict[Any, Schema] = {str: TEXT, int: NUMBER, float: {"type": "number"}, bool: FLAG, Any: {}}


def schemas_of(types: Mapping[str, Any]) -> dict[str, Schema]:
    """The schemas of these types by name; one that contains another of them refers to it."""
    names = {kind: name for name, kind in types.items()}
    return {name: _of_object(kind, names) for name, kind in types.items()}


def _of(kind: Any, names: Mapping[Any, str]) -> Schema:
    """A TypedDict, a list, a dictionary, a basic type, one of them or None, or `Annotated` with a schema."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:  # first, since it cannot be hashed
        schema: Schema = parts[1]
        return schema
    if kind in names:
        return ref(names[kind])
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if type(None) in parts:
        (present,) = (part for part in parts if part is not type(None))
        return nullable(_of(present, names))
    if origin is list:
        return array(_of(parts[0], names))
    if origin is None:
        return _of_object(kind, names)
    return OBJECT if parts[1] is Any else mapping(_of(parts[1], names))


def _of_object(kind: Any, names: Mapping[Any, str]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    # With `from __future__ import annotations` a TypedDict does not know which of its fields are NotRequired.
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired} | kind.__optional_keys__
    fields = {name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for name, hint in hints.items()}
    return strict(tuple(optional), **{name: _of(field, names) for name, field in fields.items()})
