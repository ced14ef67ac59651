"""Long work on the event loop in short turns, so that requests and the group's heartbeats do not wait for its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TURN = 0.01
"""Seconds of work in one turn of the event loop, before the loop runs other callbacks."""


class LoopTurns:
    """The turns of one piece of work, which calls `next()` after each small step. Event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._since = clock, clock()

    async def next(self) -> None:
        """Let the loop run other callbacks if this turn has lasted TURN seconds. What they may change, the caller has
        to check again."""
        if self._clock() - self._since >= TURN:
            await asyncio.sleep(0)
            self._since = self._clock()
