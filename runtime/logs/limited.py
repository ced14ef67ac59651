"""Warnings that others can cause as often as they like."""

from __future__ import annotations

import logging
from collections.abc import Callable

PERIOD = 60.0
"""Seconds."""

BURST = 10
"""Warnings that are logged in a period."""


class LimitedWarnings:
    """Logs at most BURST warnings in each PERIOD, and in the next period how many were left out. For one thread."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log, self._clock = log, clock
        self._start = float("-inf")
        self._count = 0

    def warn(self, text: str, *arguments: object) -> None:
        """Log a warning, or count it."""
        now = self._clock()
        if now - self._start >= PERIOD:
            left_out = self._count - BURST
            self._start, self._count = now, 0
            if left_out > 0:
                self._log.warning("%d further warnings of this kind were left out", left_out)
        self._count += 1
        if self._count <= BURST:
            self._log.warning(text, *arguments)
