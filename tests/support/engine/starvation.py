"""Processes that wait for a processor, as the kernel would report it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from runtime.system.scheduling import Delay


class Starved(Delay):
    """Processes that wait for a processor for a given `share` of the time."""

    def __init__(self, pids: Iterable[int], clock: Callable[[], float] = time.monotonic, share: float = 1.0) -> None:
        super().__init__(pids)
        self._clock, self._share, self._since = clock, share, clock()

    def look(self) -> float:
        self.seconds = (self._clock() - self._since) * self._share
        return self.seconds
