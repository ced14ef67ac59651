"""Appends a line per second to the demo's input file."""

from __future__ import annotations

import math
import time
from pathlib import Path

LINE_BYTES = 64
"""Length of each line with its newline, so that an operator can compute a line number as offset / 64."""

_LIMIT = 64 * 1024 * 1024


class Feeder:
    """Appends numbered lines, continuing the numbers in the file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._next = 0.0

    def feed(self) -> None:
        """Appends a line if the last call that did so was a second ago. The file grows up to 64 MiB (12 days)."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 1.0
        with self._file.open("ab") as file:
            size = file.tell()
            if size < _LIMIT:
                file.write(line(size // LINE_BYTES + 1, time.time()))


def line(number: int, seconds: float) -> bytes:
    """A measurement line, such as `00000001 2026-01-01T00:00:00Z gate=2 flow=030.17 level=009.00 m`."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    flow = 30 + 10 * math.sin(number / 60)
    level = 8 + math.cos(number / 45)
    text = f"{number:08d} {stamp} gate={number % 4 + 1} flow={flow:06.2f} level={level:06.2f} m\n"
    return text.encode()
