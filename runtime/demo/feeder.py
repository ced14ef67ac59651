"""Feeds the demo: a line a second at the end of its input file."""

from __future__ import annotations

import math
import time
from pathlib import Path

LINE_BYTES = 64
"""Every line is that long with its newline, so that offset / 64 is a line number an operator can reckon with."""

_LIMIT = 64 * 1024 * 1024


class Feeder:
    """Appends lines when it is asked to; numbering goes on from what the file holds."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._next = 0.0

    def feed(self) -> None:
        """Appends one line if the last is a second old. A file of 64 MiB (12 days) is left as it is."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + 1.0
        with self._file.open("ab") as file:
            size = file.tell()
            if size < _LIMIT:
                file.write(line(size // LINE_BYTES + 1, time.time()))


def line(number: int, seconds: float) -> bytes:
    """A reading of the water: `00000001 2026-01-01T00:00:00Z gate=2 flow=030.17 level=009.00 m`."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    flow = 30 + 10 * math.sin(number / 60)
    level = 8 + math.cos(number / 45)
    text = f"{number:08d} {stamp} gate={number % 4 + 1} flow={flow:06.2f} level={level:06.2f} m\n"
    return text.encode()
