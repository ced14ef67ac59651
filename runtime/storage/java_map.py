"""Reads and writes Java's serialized `HashMap<byte[], byte[]>`, the offsets file of a standalone worker.

Of the Java Object Serialization Stream Protocol (version 5), only a map whose keys and values are byte arrays or null
is supported. Any other content is refused, so that no object in the file is ever instantiated.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

Bytes = bytes | None
"""A key or a value; None is Java's null."""

_HEADER: Final = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY = b"\x70", b"\x71", b"\x72", b"\x73", b"\x75"
_BLOCK, _END = b"\x77", b"\x78"

_MAP_CLASS: Final = (
    _CLASS + b"\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1"  # name, serial version
    b"\x03"  # the class writes its own data after its fields
    b"\x00\x02F\x00\x0aloadFactorI\x00\x09threshold" + _END + _NULL
)
_BYTES_CLASS: Final = _CLASS + b"\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00" + _END + _NULL

_FIRST_HANDLE: Final = 0x7E0000
_BYTES_HANDLE: Final = _FIRST_HANDLE + 2  # after the map's class and the map itself
_ANOTHER: Final = _ARRAY + _REFERENCE + struct.pack(">i", _BYTES_HANDLE)
_FACTOR: Final = 0.75
_SMALLEST: Final = 16


class NotAJavaMap(ValueError):
    """The bytes are not a map that a standalone worker writes; the message names the first difference."""


def encode(entries: Mapping[Bytes, Bytes]) -> bytes:
    """The map as Java writes it."""
    capacity = _SMALLEST
    while len(entries) > capacity * _FACTOR:
        capacity *= 2
    parts = [_HEADER, _OBJECT, _MAP_CLASS, struct.pack(">fi", _FACTOR, int(capacity * _FACTOR))]
    parts += [_BLOCK, b"\x08", struct.pack(">ii", capacity, len(entries))]
    array = _ARRAY + _BYTES_CLASS
    for item in (part for entry in entries.items() for part in entry):
        if item is None:
            parts.append(_NULL)
            continue
        parts += [array, struct.pack(">i", len(item)), item]
        array = _ANOTHER
    parts.append(_END)
    return b"".join(parts)


def decode(data: bytes) -> dict[Bytes, Bytes]:
    """The map in a file's bytes. Empty bytes are an empty map, as in Java. NotAJavaMap for invalid bytes."""
    return _Reader(data).map() if data else {}


class _Reader:
    """Reads one map from its first byte to its last."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._handles: list[Bytes] = [
            None,
            None,
        ]  # byte arrays by handle; the first two are the map's class and the map
        self._knows_bytes = False

    def map(self) -> dict[Bytes, Bytes]:
        self._expect(_HEADER, "the head of a Java object stream")
        self._expect(_OBJECT + _MAP_CLASS, "a java.util.HashMap")
        self._take(8)  # load factor and threshold, which Java calculates again
        self._expect(_BLOCK + b"\x08", "the size of the map")
        _, size = struct.unpack(">ii", self._take(8))
        if size < 0:
            raise self._wrong("the size of the map")
        entries = {}
        for _ in range(size):
            key = self._bytes()
            entries[key] = self._bytes()
        self._expect(_END, "the end of the map")
        return entries

    def _bytes(self) -> Bytes:
        """A byte array, a reference to an earlier one, or null."""
        another = self._another()
        if another is not None:
            return another
        kind = self._take(1)
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            return self._earlier()
        if kind != _ARRAY:
            raise self._wrong("a byte array")
        self._bytes_class()
        (length,) = struct.unpack(">i", self._take(4))
        if length < 0:
            raise self._wrong("the length of a byte array")
        data = self._take(length)
        self._handles.append(data)
        return data

    def _another(self) -> Bytes:
        """A byte array after the first one, which is the usual case; None for anything else."""
        if not self._knows_bytes or not self._data.startswith(_ANOTHER, self._at):
            return None
        begin = self._at + len(_ANOTHER) + 4
        end = begin + int.from_bytes(self._data[begin - 4 : begin])
        if end > len(self._data):
            return None
        self._at = end
        data = self._data[begin:end]
        self._handles.append(data)
        return data

    def _bytes_class(self) -> None:
        if not self._knows_bytes:
            self._expect(_BYTES_CLASS, "the class of byte arrays")
            self._handles.append(None)
            self._knows_bytes = True
        else:
            self._expect(_ANOTHER[1:], "the class of byte arrays")

    def _earlier(self) -> Bytes:
        index = int.from_bytes(self._take(4)) - _FIRST_HANDLE
        if not 0 <= index < len(self._handles) or self._handles[index] is None:
            raise self._wrong("a byte array that was read before")
        return self._handles[index]

    def _expect(self, wanted: bytes, what: str) -> None:
        if self._take(len(wanted)) != wanted:
            raise self._wrong(what)

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise NotAJavaMap(f"the file ends at byte {len(self._data)}, in the middle of an entry")
        self._at += count
        return taken

    def _wrong(self, what: str) -> NotAJavaMap:
        return NotAJavaMap(f"expected {what} before byte {self._at}")
