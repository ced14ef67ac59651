"""The schema of a stream, inferred from its records; kept as an offset, so that it survives restarts.

Types of JSON values are inferred from values and widened by further ones:

    null                      nothing but null has been seen
    "boolean" "int32" "int64" "bigint" "double" "string"
    {"id": "int32", …}        an object
    ["string"]                an array; [null] if it has been empty so far

A type without any of "boolean" to "string" in it has no schema yet: such a field is omitted.

A type only widens: int32 to int64 to double; an object by further fields, an array by its elements. "bigint" are whole
numbers that a double does not hold exactly, with the schema int64. Values that have no other type in common, such as a
number and a text or a "bigint" and a double, are "string", as JSON texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import ConnectError
from runtime.api.task import Partition
from runtime.connectors.http.source.positions import StreamPositions

JsonType = str | dict[str, Any] | list[Any] | None
"""See the module."""

_NUMBERS = ("int32", "int64", "double")
_WHOLE = {"int32": 31, "int64": 53, "bigint": 63}  # bits
_NAMES = ("boolean", "bigint", *_NUMBERS, "string")
_MOST_FIELDS = 1000  # an object with more has names that are data, such as ids


def widened(known: JsonType, value: Any) -> JsonType:
    """The type of values of the known type and of this value; the same object if it is the known type."""
    if value is None:
        return known
    if isinstance(value, dict):
        return _with_fields(known, value) if known is None or isinstance(known, dict) else "string"
    if isinstance(value, list):
        return _with_elements(known, value) if known is None or isinstance(known, list) else "string"
    kind = _kind(value)
    if known is None or known == kind:
        return known or kind
    if known in _NUMBERS and kind in _NUMBERS:
        return known if _NUMBERS.index(known) > _NUMBERS.index(kind) else kind
    if isinstance(known, str) and known in _WHOLE and kind in _WHOLE:
        return "bigint"
    return "string"


def _with_fields(known: JsonType, value: dict[str, Any]) -> JsonType:
    fields = known if isinstance(known, dict) else {}
    more = {
        name: kind for name, item in value.items() if (kind := widened(before := fields.get(name), item)) is not before
    }
    if not more:
        return fields if known is None else known
    return {**fields, **more} if len(fields.keys() | more) <= _MOST_FIELDS else "string"


def _with_elements(known: JsonType, value: list[Any]) -> JsonType:
    before = element = known[0] if isinstance(known, list) else None
    for item in value:
        element = widened(element, item)
    return known if known is not None and element is before else [element]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return next((name for name, bits in _WHOLE.items() if -1 << bits <= value < 1 << bits), "string")
    return "double" if isinstance(value, float) else "string"


def read_type(text: Any) -> JsonType:
    """A type from its JSON text; ConnectError if it is not one."""
    try:
        kind: JsonType = orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        kind = ""
    if not has_schema(kind) or not _is_type(kind):
        raise ConnectError(f'Not an inferred schema, such as {{"id": "int64", "tags": ["string"]}}: {text!r}')
    return kind


def _is_type(kind: Any) -> bool:
    if isinstance(kind, dict):
        return all(map(_is_type, kind.values()))
    if isinstance(kind, list):
        return len(kind) == 1 and _is_type(kind[0])
    return kind is None or kind in _NAMES


def write_type(kind: JsonType) -> str:
    """The type as JSON text."""
    return orjson.dumps(kind).decode()


def has_schema(kind: JsonType) -> bool:
    """Whether enough is known about a type."""
    if isinstance(kind, dict):
        return any(map(has_schema, kind.values()))
    return has_schema(kind[0]) if isinstance(kind, list) and kind else kind is not None


def schema_of(kind: JsonType, name: str, optional: bool = False) -> Schema | None:
    """The Connect schema of a type, in which all fields and elements are optional; None for an unknown type. `name` is
    that of a struct, whose inner structs are called by the path to them."""
    if kind is None or not has_schema(kind):
        return None
    if isinstance(kind, str):
        return Schema(Type.INT64 if kind == "bigint" else Type(kind), optional=optional)
    if isinstance(kind, list):
        return Schema(Type.ARRAY, optional=optional, values=schema_of(kind[0], name, True))
    inner = {field: schema_of(item, f"{name}.{_identifier(field)}", True) for field, item in kind.items()}
    fields = tuple(Field(field, schema) for field, schema in inner.items() if schema is not None)
    return Schema(Type.STRUCT, optional=optional, name=name, fields=fields)


def schema_name(text: str) -> str:
    """A name that Avro accepts, with dots."""
    return ".".join(_identifier(part) for part in text.split(".") if part) or "_"


def _identifier(text: str) -> str:
    name = "".join(char if char.isascii() and (char.isalnum() or char == "_") else "_" for char in text)
    return f"_{name}" if not name or name[0].isdigit() else name


def converter_of(kind: JsonType) -> Callable[[Any], Any]:
    """Converts JSON values to values of the schema of a type, which must not be narrower than the values."""
    if not has_schema(kind):
        return _unchanged
    if isinstance(kind, dict):
        fields = [(name, converter_of(item)) for name, item in kind.items() if has_schema(item)]
        return lambda value: None if value is None else {name: convert(value.get(name)) for name, convert in fields}
    if isinstance(kind, list):
        convert = converter_of(kind[0])
        return lambda value: None if value is None else [convert(item) for item in value]
    return {"double": _double, "string": _text}.get(kind or "", _unchanged)


def _double(value: Any) -> Any:
    return None if value is None else float(value)


def _text(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)  # orjson has no numbers beyond 64 bits


def _unchanged(value: Any) -> Any:
    return value


SCHEMA_LEVEL = "schema"
"""The level of the partition, and the key of the offset."""


def type_in(offset: Mapping[str, Any]) -> JsonType:
    """The type in an offset; ConnectError if it has none."""
    return read_type(offset.get(SCHEMA_LEVEL) if set(offset) == {SCHEMA_LEVEL} else None)


class Inference:
    """The schema so far. It only widens, for the records of a page before they are converted."""

    def __init__(self, partition: Partition, topic: str, positions: StreamPositions) -> None:
        """`partition` is that of the schema. Raises ConnectError for an offset that is not a schema."""
        self._partition, self._positions = partition, positions
        self._name = schema_name(topic)
        offset = positions.offset(partition)
        self._use(None if offset is None else type_in(offset))

    @property
    def is_known(self) -> bool:
        """Whether any field is known."""
        return has_schema(self._type)

    def observe(self, rows: Sequence[Any]) -> None:
        """Widens the schema by these records."""
        known = self._type
        for row in rows:
            known = widened(known, row)
        if known is not self._type:
            self._use(known)
            if self.is_known:
                self._positions.moved(self._partition, {SCHEMA_LEVEL: write_type(known)})

    def convert(self, rows: Sequence[Any]) -> ValueBatch:
        """The records with their schema, which is widened if they need it."""
        self.observe(rows)
        return ValueBatch(self._schema, [self._converter(row) for row in rows])

    def _use(self, kind: JsonType) -> None:
        self._type = kind
        self._schema, self._converter = schema_of(kind, self._name), converter_of(kind)
