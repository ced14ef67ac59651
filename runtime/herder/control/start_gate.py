"""Limits how many connectors start at once: with thousands of starts, calls of the plugin host would time out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_STARTING = 32
"""How many connectors may start at once."""

SLOW_START = 1.0
"""Seconds after which a start no longer counts, since the connector's code waits for an external system."""


class StartGate:
    """Admits starts in the order of their requests. Event loop only."""

    def __init__(self, max_starting: int = MAX_STARTING, slow_start: float = SLOW_START) -> None:
        self._free, self._slow_start = max_starting, slow_start
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Waits until fewer than `max_starting` starts are running. After `slow_start` seconds this start no longer
        counts, even if it continues."""
        await self._enter()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._leave()

        timer = asyncio.get_running_loop().call_later(self._slow_start, leave)
        try:
            yield
        finally:
            timer.cancel()
            leave()

    async def _enter(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
