"""Envelopes: JSON objects with a schema and a payload. Messages of one producer usually share the bytes of the
schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

import orjson

from runtime.api.data.schema import Schema
from runtime.api.errors import DataError
from runtime.converters.json.read import InexactError
from runtime.converters.json.schema import read_schema
from runtime.converters.json.text import loads, loads_exactly

_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_OPENING, _PAYLOAD = b'{"schema":', b',"payload":'
_SCHEMA_KEY, _PAYLOAD_KEY = re.compile(rb'\{\s*"schema"\s*:'), re.compile(rb'"payload"\s*:\s*')
_TRIES = 3  # the schema may contain the word, too
_CLOSING = ord("}")


class Envelopes:
    """Splits envelopes and caches their schemas, so that equal schemas are one object."""

    def __init__(self, size: int, fill: bool) -> None:
        self._size, self._fill = max(size, 1), fill
        self._known: dict[bytes, Schema] = {}
        self._prefixes: dict[bytes, bytes] = {}
        self._prefix, self._length = b"", 0
        self._schema: Schema | None = None

    def split(self, data: bytes) -> tuple[Schema | None, Any] | None:
        """Schema and payload of an envelope that starts like the previous one; otherwise None."""
        if self._length and data.startswith(self._prefix) and data.endswith(b"}"):
            try:
                return self._schema, orjson.loads(data[self._length : -1])
            except orjson.JSONDecodeError:  # more fields after the payload, or invalid JSON
                return None
        return None

    def split_batch(self, data: Sequence[bytes]) -> tuple[Schema, list[Any]] | None:
        """The schema and payloads of envelopes that share the bytes before the payload; None for others. Raises
        JSONDecodeError for invalid JSON."""
        if self.split(data[0]) is None:
            self.read(data[0])
        schema, prefix, length, loads = self._schema, self._prefix, self._length, orjson.loads
        if schema is None or not data[0].startswith(prefix):
            return None
        found = [
            loads(message[length:-1]) for message in data if message.startswith(prefix) and message[-1] == _CLOSING
        ]
        return (schema, found) if len(found) == len(data) else None

    def beginnings(self, data: Sequence[bytes]) -> Sequence[bytes]:
        """The part of each envelope before its payload."""
        return [message[: message.find(b'"payload":')] for message in data]

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Schema and payload of any envelope; DataError if it is invalid."""
        try:
            value, exact = orjson.loads(data), True
        except orjson.JSONDecodeError:
            value, exact = loads(data), False
        if type(value) is not dict or len(value) != 2 or "schema" not in value or "payload" not in value:
            raise DataError(_NO_ENVELOPE)
        if value["schema"] is None:
            return None, value["payload"]
        return (self._known_schema(data, value) if exact else self._new_schema(data, value)), value["payload"]

    def _known_schema(self, data: bytes, value: Any) -> Schema | None:
        key = orjson.dumps(value["schema"])
        schema = self._known.get(key)
        if schema is None:
            if len(self._known) >= self._size:
                self._known.clear()
                self._prefixes.clear()
            try:
                schema = read_schema(value["schema"], self._fill)
            except InexactError:
                return self._new_schema(data, value)
            assert schema is not None
            self._known[key] = schema
        self._remember(data, key, schema)
        return schema

    def _new_schema(self, data: bytes, value: Any) -> Schema | None:
        """Reads a schema that orjson cannot serialize: with an infinite default or a lone surrogate."""
        try:
            return read_schema(value["schema"], self._fill)
        except InexactError:  # a decimal default
            return read_schema(loads_exactly(data)["schema"], self._fill)

    def _remember(self, data: bytes, key: bytes, schema: Schema) -> None:
        """Remembers the bytes before the payload."""
        prefix = self._prefixes.get(key)
        if not prefix or not data.startswith(prefix):
            prefix = self._prefixes[key] = _before_payload(data, key)
        if prefix:
            self._prefix, self._length, self._schema = prefix, len(prefix), schema


def _before_payload(data: bytes, key: bytes) -> bytes:
    """The bytes before the payload, with any spaces between the parts; empty if it is not behind the schema.
    `key`: the schema as orjson writes it."""
    prefix = _OPENING + key + _PAYLOAD
    if data.startswith(prefix):
        return prefix
    if _SCHEMA_KEY.match(data) is None:
        return b""
    for match in islice(_PAYLOAD_KEY.finditer(data), _TRIES):
        prefix = data[: match.end()]
        try:
            envelope = orjson.loads(prefix + b"null}")
        except orjson.JSONDecodeError:
            continue
        if list(envelope) == ["schema", "payload"] and orjson.dumps(envelope["schema"]) == key:
            return prefix
    return b""


def within_64_bits(value: Any, data: bytes, enveloped: bool) -> Any:
    """A value without a schema as Java reads it: whole numbers wrap around at 64 bits, and -0.0 becomes 0.0."""
    if type(value) is float:
        if abs(value) < 2.0**63:
            return value + 0.0
        exact = loads_exactly(data)
        if type(whole := exact["payload"] if enveloped else exact) is not int:
            return value
        value = whole
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return value
