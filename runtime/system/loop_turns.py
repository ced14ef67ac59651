"""Long work on the event loop in short turns, so that requests and the group's heartbeats do not wait for its end."""

from __future__ import annotations

import asyncio
import time

TURN = 0.01
"""Seconds of work in one turn of the event loop, before the loop runs other callbacks."""


class LoopTurns:
    """The turns of one piece of work, which calls `next()` after each small step. Event loop only."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def next(self) -> None:
        """Let the loop run other callbacks if this turn has lasted TURN seconds. What they may change, the caller has
        to check again."""
        if time.monotonic() - self._since >= TURN:
            await asyncio.sleep(0)
            self._since = time.monotonic()
