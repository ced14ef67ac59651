"""Tells a file that has grown from one whose content has changed, without reading it again.

A fingerprint covers the first and the last bytes of what has been read. Files of up to TAIL bytes are covered wholly;
in larger ones a change in the middle that keeps every later byte in its place is not noticed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

HEAD, TAIL = 4 * 1024, 64 * 1024


class Fingerprint:
    """The bytes of a file up to `position`."""

    def __init__(self, head: bytes = b"", tail: bytes = b"", position: int = 0) -> None:
        self._head, self._tail, self.position = head, tail, position

    @classmethod
    def of_file(cls, file: Any, position: int) -> Fingerprint:
        """That of an open pyarrow NativeFile up to `position`, or up to its end if it is shorter."""
        position = min(position, file.size())
        start = max(position - TAIL, 0)
        tail = bytes(file.read_at(position - start, start))
        head = bytes(file.read_at(min(HEAD, position), 0)) if start else tail[:HEAD]
        return cls(head, tail, position)

    @property
    def check(self) -> str:
        """The fingerprint as text."""
        return blake2b(self._head + self._tail, digest_size=8).hexdigest()

    @property
    def ends_within_line(self) -> bool:
        """Whether the last byte is not a line break."""
        return self.position > 0 and self._tail[-1:] not in b"\r\n"

    def add(self, data: bytes) -> None:
        """Continues with bytes that were read."""
        if len(self._head) < HEAD:
            self._head = (self._head + data[:HEAD])[:HEAD]
        self._tail = data[-TAIL:] if len(data) >= TAIL else (self._tail + data)[-TAIL:]
        self.position += len(data)
