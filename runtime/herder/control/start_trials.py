"""Finds the connector that ends the plugin host when it is started, without failing those that started beside it.

the host dies ─ every connector that was being started is a suspect and tries again
suspects start one at a time ─ started: acquitted
                             └ the host dies again: counted; after LIMIT deaths the connector is FAILED
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from runtime.host.port import HOST_DIED, HostError

_T = TypeVar("_T")

MAX_DEATHS = 3
"""Deaths of the host during the start of a suspect that starts alone."""

TRIAL_TIMEOUT = 10.0
"""Seconds after which the next suspect is started even if the previous start has not returned."""


class StartTrials:
    """The start trials of all connectors of a worker. Event loop only."""

    def __init__(self, turn: asyncio.Lock) -> None:
        """`turn` is held while a suspect starts."""
        self._deaths: dict[str, int] = {}  # of suspects, while they started alone
        self._turn = turn

    async def run(self, name: str, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Returns the result of `start`, which starts a connector. A HostError is passed on, no longer `temporary` if
        the connector has ended the host too often."""
        suspect = name in self._deaths
        try:
            answer = await (self._alone(start) if suspect else start())
        except HostError as e:
            if e.kind == HOST_DIED:
                self._count(name, suspect, e)
            elif not e.temporary:
                self._deaths.pop(name, None)
            raise
        self._deaths.pop(name, None)
        return answer

    def forget(self, name: str) -> None:
        """The connector has been deleted."""
        self._deaths.pop(name, None)

    async def _alone(self, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        async with self._turn:
            attempt = asyncio.create_task(start())
            try:
                await asyncio.wait({attempt}, timeout=TRIAL_TIMEOUT)
            except asyncio.CancelledError:
                attempt.cancel()
                raise
        return await attempt

    def _count(self, name: str, suspect: bool, death: HostError) -> None:
        alone = suspect and not self._turn.locked()  # otherwise another suspect's start may have ended the host
        deaths = self._deaths.get(name, 0) + alone
        self._deaths[name] = min(deaths, MAX_DEATHS - 1)  # one more death is enough when it is restarted
        if deaths >= MAX_DEATHS:
            message = f"Starting this connector ended the plugin host {deaths} times; the last time: {death.message}"
            trace = f"org.apache.kafka.connect.errors.ConnectException: {message}\n"
            raise HostError("connect", message, trace) from None
