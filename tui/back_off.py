"""Pauses between attempts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

JITTER = 0.2  # share of a pause, so that many consoles do not send requests in step


class BackOff(NamedTuple):
    """Pauses in seconds, each twice as long as the previous one, up to the longest."""

    first: float
    longest: float

    def pause(self, failures: int) -> float:
        """The pause after this number of failures in a row, counted from 1."""
        return min(self.first * 2.0 ** min(failures - 1, 30), self.longest)


def jittered(seconds: float, chance: Callable[[], float], share: float = JITTER) -> float:
    """The pause, longer or shorter by up to the share; `chance` returns numbers from 0 to 1."""
    return seconds * (1 + share * (2 * chance() - 1))
