"""Limits how many connectors start at once: with thousands of starts, calls of the plugin host would time out."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_STARTING = 32
"""How many connectors may start at once."""

SLOW_START = 1.0
"""Seconds after which a start no longer counts, since the connector's code waits for an external system."""

LONG_WAIT = 15.0
"""Seconds that a start waits before a warning is logged."""

LOG_INTERVAL = 30.0
"""Seconds between two warnings."""

_log = logging.getLogger(__name__)


class StartGate:
    """Admits starts in the order of their requests. Event loop only."""

    def __init__(
        self, max_starting: int = MAX_STARTING, slow_start: float = SLOW_START, long_wait: float = LONG_WAIT
    ) -> None:
        self._free, self._slow_start, self._long_wait = max_starting, slow_start, long_wait
        self._queue: deque[asyncio.Future[None]] = deque()
        self._warning: asyncio.TimerHandle | None = None  # armed while starts wait
        self._measured: asyncio.Future[None] | None = None  # the last start in the queue when the warning was armed

    @property
    def waiting(self) -> int:
        """The number of starts that wait."""
        return sum(not turn.done() for turn in self._queue)

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
        if self._warning is None:
            self._watch(self._long_wait)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    def _watch(self, seconds: float) -> None:
        self._measured = self._queue[-1]
        self._warning = asyncio.get_running_loop().call_later(seconds, self._warn)

    def _warn(self) -> None:
        self._warning = None
        waiting = self.waiting
        if not waiting:
            return
        if self._measured is not None and self._measured.done():  # it waited for less than that
            self._watch(self._long_wait)
            return
        _log.warning(
            "%d connectors are waiting to be started: this machine is too busy to start them faster. Connectors that "
            "have started keep running; the others start in the order of their requests. Add processors, or move "
            "connectors to another worker",
            waiting,
        )
        self._watch(LOG_INTERVAL)

    def _leave(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
