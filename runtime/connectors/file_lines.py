"""Splits a growing file into lines, which end with LF, CRLF or CR."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from runtime.api.errors import ConnectError

MAX_LINE = 128 * 1024 * 1024  # bytes


class Lines:
    """Consecutive lines of a file without their endings, as bytes, and their positions."""

    __slots__ = ("_end", "_positions", "_sizes", "start", "texts")

    def __init__(self, texts: list[bytes], start: int, sizes: Sequence[int] | None = None) -> None:
        """`start`: the position before the first line. `sizes`: the bytes of each line with its ending; by default
        every ending is one line feed."""
        self.texts, self.start, self._sizes = texts, start, sizes
        self._positions: list[int] | None = None
        self._end: int | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def end(self) -> int:
        """The position after the last line."""
        if self._end is None:
            size = sum(map(len, self.texts)) + len(self.texts) if self._sizes is None else sum(self._sizes)
            self._end = self.start + size
        return self._end

    def position(self, index: int) -> int:
        """The position after a line. Usually only that after the last line is needed."""
        if index == len(self.texts) - 1:
            return self.end
        if self._positions is None:
            sizes = self._sizes if self._sizes is not None else [len(text) + 1 for text in self.texts]
            self._positions = list(accumulate(sizes, initial=self.start))
        return self._positions[index + 1]

    def slice(self, first: int, count: int, start: int) -> Lines:
        """Up to `count` lines from the index `first` on, which is at the position `start`."""
        sizes = None if self._sizes is None else self._sizes[first : first + count]
        return Lines(self.texts[first : first + count], start, sizes)


class LineBuffer:
    """Collects bytes and returns complete lines.

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

    def feed(self, block: bytes) -> Lines:
        """The lines that `block` completes. ConnectError for a line beyond the limit."""
        cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        if cut == 0 and not (self._rest and self._rest[-1].endswith(b"\r")):
            self._keep(block)
            return Lines([], self.position)
        whole = b"".join([*self._rest, memoryview(block)[:cut]])
        self._rest, self._rest_size = [], 0
        lines = _split(whole, self.position)
        self.position += len(whole)
        self._keep(block[cut:])
        return lines

    def finish(self) -> list[bytes]:
        """The unterminated line, for a file that will not grow any more."""
        rest = b"".join(self._rest)
        self.position += len(rest)
        self._rest, self._rest_size = [], 0
        return [rest.removesuffix(b"\r")] if rest else []

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


def _split(whole: bytes, start: int) -> Lines:
    if b"\r" not in whole:
        texts = whole.split(b"\n")
        texts.pop()
        return Lines(texts, start)
    parts = whole.splitlines(keepends=True)
    return Lines([part.rstrip(b"\r\n") for part in parts], start, list(map(len, parts)))
