"""Splits the output of child processes into lines of limited length."""

from __future__ import annotations

from collections.abc import Iterator

MAX_LINE_BYTES = 64 * 1024
"""The most bytes of a line that are kept."""

CUT_MARK = " [line cut]"


class OutputLines:
    """Splits chunks into lines. Only the beginning of a long line is kept, so that output without line ends takes
    limited memory and time."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._skipping = False  # the beginning of this line has been returned already

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that this chunk completes."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield from self._append(end)
            if not self._skipping:
                yield self._take()
            self._skipping = False
        yield from self._append(rest)

    def close(self) -> Iterator[str]:
        """The last line, if it has no line end."""
        if self._rest:
            yield self._take()

    def _append(self, part: bytes) -> Iterator[str]:
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > self._longest:
            del self._rest[self._longest :]
            self._skipping = True
            yield self._take() + CUT_MARK

    def _take(self) -> str:
        line = self._rest.decode(errors="replace")
        self._rest.clear()
        return line
