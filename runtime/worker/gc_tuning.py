"""Garbage collection of the worker's process: makes full collections rare, and measures the time of collections.

With thousands of connectors a full collection blocks the event loop for more than 100 ms. Reference counting frees
almost all objects; the collector is needed only for cycles."""

from __future__ import annotations

import gc
import time
from typing import Final

THRESHOLDS: Final = (20_000, 20, 50)
"""Allocations before a young collection, young collections before a middle collection, and middle collections before a
full collection."""


def tune() -> None:
    """Exclude all objects created during startup from collections, and collect less often."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


class CollectionClock:
    """Adds up the seconds that collections take, in any thread: each collection holds the interpreter."""

    def __init__(self) -> None:
        self.total = 0.0
        self._started = 0.0

    def start(self) -> None:
        gc.callbacks.append(self._measure)

    def close(self) -> None:
        gc.callbacks.remove(self._measure)

    def _measure(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._started = time.monotonic()
        elif self._started:
            self.total += time.monotonic() - self._started
