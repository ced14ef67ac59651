"""Connectors start a few at a time: thousands at once would wait so long that calls of the plugin host time out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_STARTING = 32
"""Connectors that may be starting at once."""

SLOW_START = 1.0
"""Seconds after which a start no longer counts, since the connector's code is waiting for something else."""


class StartGate:
    """Admits starts in the order of their requests. Event loop only."""

    def __init__(self, abreast: int = MAX_STARTING, hangs: float = SLOW_START) -> None:
        self._free, self._hangs = abreast, hangs
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for a free place, and releases the place after `hangs` seconds even if the start continues."""
        await self._enter()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._leave()

        given_up = asyncio.get_running_loop().call_later(self._hangs, leave)
        try:
            yield
        finally:
            given_up.cancel()
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
