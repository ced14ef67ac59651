"""Apicurio's wire formats: a zero byte and an id of four or eight bytes, a JSON object with id and payload, or an id in
a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.api.converter import RawHeaders
from runtime.api.errors import DataError
from runtime.converters.registry.schemas import SchemaId
from runtime.converters.registry.wire import Prefix

_MAGIC = b"\x00"
_PRETTY = re.compile(rb'\s*\{\s*"schemaId"\s*:\s*(\d+)\s*,\s*"payload"\s*:\s*')


class ApicurioWire:
    """`size`: of ids in bytes; `id_field`: contentId or globalId; `encoding`: a further header, for Avro."""

    suffix = b""

    def __init__(self, is_key: bool, size: int, id_field: str, encoding: str = "") -> None:
        part = "key" if is_key else "value"
        self.header, self._size, self.usual = f"apicurio.{part}.{id_field}", size, 1 + size
        self._encoding: RawHeaders = [(f"apicurio.{part}.encoding", encoding.encode())] if encoding else []

    def prefix(self, schema: SchemaId, path: Sequence[int]) -> bytes:
        return _MAGIC + schema.number.to_bytes(self._size, "big")

    def headers(self, schema: SchemaId, path: Sequence[int]) -> RawHeaders:
        return [(self.header, schema.number.to_bytes(8, "big")), *self._encoding]

    def read(self, data: bytes) -> Prefix:
        if len(data) < self.usual or data[:1] != _MAGIC:
            raise DataError("Unknown magic byte!")
        return Prefix(data[: self.usual], int.from_bytes(data[1 : self.usual], "big"))

    def read_header(self, data: bytes) -> Prefix:
        return Prefix(data, int.from_bytes(data, "big"))


class PrettyWire:
    """A JSON object: `{"schemaId":1,"payload":…}`."""

    header = ""
    usual = 0
    suffix = b"}"

    def prefix(self, schema: SchemaId, path: Sequence[int]) -> bytes:
        return b'{"schemaId":%d,"payload":' % schema.number

    def headers(self, schema: SchemaId, path: Sequence[int]) -> RawHeaders:
        return []

    def read(self, data: bytes) -> Prefix:
        match = _PRETTY.match(data)
        if match is None or not data.endswith(b"}"):
            raise DataError('The message is not an object with "schemaId" and "payload"')
        return Prefix(match[0], int(match[1]))

    def read_header(self, data: bytes) -> Prefix:
        return self.read(data)
