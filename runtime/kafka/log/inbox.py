"""Calls from other threads to the event loop: one wake-up for many calls, and a limit on the work in one turn."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from runtime.system.loop_turns import TURN

MAX_CALLS = 500
"""Calls in one turn: each may schedule further work on the loop, which the time of a turn does not include."""


class LoopInbox:
    """Runs calls on the event loop in the order of post(). A call that raises is reported to the loop's exception
    handler, and the calls behind it run."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop, self._clock = loop, clock
        self._lock = threading.Lock()  # guards the next two attributes
        self._calls: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._scheduled = False

    def post(self, call: Callable[..., object], *args: object) -> None:
        """Have the loop call this soon. Thread-safe; ignored once the loop is closed."""
        with self._lock:
            self._calls.append((call, args))
            if self._scheduled:
                return
            self._scheduled = True
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._run)

    async def drained(self) -> None:
        """Return when no call waits. On the event loop."""
        while self._scheduled:  # noqa: ASYNC110 - a few turns of the loop, at the end
            await asyncio.sleep(0)

    def _run(self) -> None:
        until = self._clock() + TURN
        for _ in range(MAX_CALLS):
            with self._lock:
                if not self._calls:
                    self._scheduled = False
                    return
                call, args = self._calls.popleft()
            try:
                call(*args)
            except Exception as error:  # the other calls must be made
                self._loop.call_exception_handler({"message": f"{call!r} raised", "exception": error})
            if self._clock() >= until:
                break
        self._loop.call_soon(self._run)
