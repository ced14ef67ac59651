"""The wire formats: how a message refers to its schema.

Confluent's prefix is a zero byte and the schema's id in four bytes, or a one and its GUID in sixteen; Protobuf adds the
path of the message type within the schema. With schema ids in headers, the same bytes are in the header
`__key_schema_id` or `__value_schema_id`, with the GUID.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from runtime.api.converter import RawHeaders
from runtime.api.errors import DataError
from runtime.converters.registry.schemas import SchemaId

_NUMBER, _GUID = b"\x00", b"\x01"
_FIRST = b"\x00"  # stands for the path (0,)


class WireFormat(Protocol):
    """How messages refer to their schema. `header`: the name of the header that may do so. `usual`: the length of most
    prefixes, 0 if they differ; `suffix` follows the value."""

    header: str
    usual: int
    suffix: bytes

    def prefix(self, schema: SchemaId, path: Sequence[int]) -> bytes:
        """The bytes before the value."""

    def headers(self, schema: SchemaId, path: Sequence[int]) -> RawHeaders:
        """The headers of a message without a prefix."""

    def read(self, data: bytes) -> Prefix:
        """The prefix of a message; DataError if it has none."""

    def read_header(self, data: bytes) -> Prefix:
        """What the header says."""


class Prefix(NamedTuple):
    """The bytes that refer to a schema, and the schema's id or GUID; `path`: of the message type, for Protobuf."""

    data: bytes
    schema: int | str
    path: tuple[int, ...] = ()


def id_header(is_key: bool) -> str:
    return "__key_schema_id" if is_key else "__value_schema_id"


class ConfluentWire:
    """Confluent's wire format. `has_path`: messages name their type within the schema."""

    suffix = b""

    def __init__(self, is_key: bool, has_path: bool) -> None:
        self.header, self._has_path = id_header(is_key), has_path
        self.usual = 6 if has_path else 5

    def prefix(self, schema: SchemaId, path: Sequence[int]) -> bytes:
        return number_prefix(schema, path)

    def headers(self, schema: SchemaId, path: Sequence[int]) -> RawHeaders:
        return [(self.header, guid_prefix(schema, path))]

    def read(self, data: bytes) -> Prefix:
        return read_prefix(data, self._has_path)

    def read_header(self, data: bytes) -> Prefix:
        return self.read(data)


def number_prefix(schema: SchemaId, path: Sequence[int]) -> bytes:
    return _NUMBER + (schema.number & 0xFFFFFFFF).to_bytes(4, "big") + path_bytes(path)


def guid_prefix(schema: SchemaId, path: Sequence[int]) -> bytes:
    """DataError if the registry has no GUIDs."""
    if not schema.guid:
        raise DataError(
            f"The schema registry has no GUID for schema {schema.number}, which schema ids in headers need: upgrade "
            "the registry, or use PrefixSchemaIdSerializer"
        )
    return _GUID + uuid.UUID(schema.guid).bytes + path_bytes(path)


def read_prefix(data: bytes, has_path: bool = False) -> Prefix:
    """The prefix of a message, or a header; DataError if there is none."""
    if len(data) >= 5 and data[:1] == _NUMBER:
        end, schema = 5, int.from_bytes(data[1:5], "big")  # type: tuple[int, int | str]
    elif len(data) >= 17 and data[:1] == _GUID:
        end, schema = 17, str(uuid.UUID(bytes=data[1:17]))
    else:
        raise DataError("Unknown magic byte!")
    if not has_path:
        return Prefix(data[:end], schema)
    path, end = _read_path(data, end)
    return Prefix(data[:end], schema, path)


def last_header(headers: RawHeaders, name: str) -> bytes | None:
    return next((data for key, data in reversed(headers) if key == name), None)


def path_bytes(path: Sequence[int]) -> bytes:
    """The length of the path and its indexes as zigzag varints; one zero byte for the first message type."""
    if not path:
        return b""
    return _FIRST if tuple(path) == (0,) else b"".join(map(_varint, (len(path), *path)))


def _read_path(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    count, at = _read_varint(data, at)
    path = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        path.append(index)
    return tuple(path) or (0,), at


def _varint(value: int) -> bytes:
    left, made = value << 1 if value >= 0 else (-value << 1) - 1, bytearray()
    while left > 127:
        made.append(left & 127 | 128)
        left >>= 7
    made.append(left)
    return bytes(made)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise DataError("The message indexes after the schema id are invalid")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at
