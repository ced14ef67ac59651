"""Splits a growing file into lines, which end with LF, CRLF or CR. Bytes that are not UTF-8 become surrogate
escapes."""

from __future__ import annotations

from itertools import accumulate

from runtime.api.errors import ConnectError

MAX_LINE = 128 * 1024 * 1024  # bytes


def _text(block: bytes) -> str:
    return block.decode("utf-8", "surrogateescape")


class LineBuffer:
    """Collects bytes and returns complete lines, each with the file position after it.

    Keeps an unterminated line, and a carriage return at the end, because a line feed may follow it.
    """

    def __init__(self, position: int, max_line: int = MAX_LINE) -> None:
        self.position = position
        """Position of the unterminated line in the file."""
        self._max_line = max_line
        self._rest: list[bytes] = []
        self._rest_size = 0

    @property
    def end(self) -> int:
        """Position after the last byte read."""
        return self.position + self._rest_size

    def feed(self, block: bytes) -> tuple[list[str], list[int]]:
        """The lines that `block` completes, and the position after each. ConnectError for a line beyond the limit."""
        cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        if cut == 0 and not (self._rest and self._rest[-1].endswith(b"\r")):
            self._keep(block)
            return [], []
        whole = b"".join([*self._rest, block[:cut]])
        self._rest, self._rest_size = [], 0
        if b"\r" in whole:
            lines, positions = self._split(whole)
        else:
            lines, positions = self._split_at_line_feeds(whole)
        self.position += len(whole)
        self._keep(block[cut:])
        return lines, positions

    def finish(self) -> list[str]:
        """The unterminated line, for a file that will not grow any more."""
        rest = b"".join(self._rest)
        self.position += len(rest)
        self._rest, self._rest_size = [], 0
        return [_text(rest.removesuffix(b"\r"))] if rest else []

    @property
    def rest_size(self) -> int:
        """Bytes of the unterminated line."""
        return self._rest_size

    def _keep(self, block: bytes) -> None:
        if not block:
            return
        self._rest.append(block)
        self._rest_size += len(block)
        if self._rest_size > self._max_line:
            raise ConnectError(f"The line at position {self.position} is longer than {self._max_line >> 20} MiB")

    def _split_at_line_feeds(self, whole: bytes) -> tuple[list[str], list[int]]:
        """The common case: no carriage returns; ASCII is decoded in one call."""
        start = self.position
        if whole.isascii():
            lines = whole.decode("ascii").split("\n")
            lines.pop()
            sizes = map(len, lines)
        else:
            parts = whole.split(b"\n")
            parts.pop()
            lines = list(map(_text, parts))
            sizes = map(len, parts)
        return lines, list(accumulate([size + 1 for size in sizes], initial=start))[1:]

    def _split(self, whole: bytes) -> tuple[list[str], list[int]]:
        parts = whole.splitlines(keepends=True)
        lines = [_text(part.rstrip(b"\r\n")) for part in parts]
        return lines, list(accumulate(map(len, parts), initial=self.position))[1:]
