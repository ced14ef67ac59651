"""Finds the connector whose start ends the plugin host, without failing connectors that started at the same time.

the host dies ─ every connector that was starting becomes a suspect and starts again
suspects start one after another ─ the start succeeds: no longer a suspect
                                 └ the host dies again: counted; after MAX_DEATHS the connector is FAILED
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from runtime.host.port import HOST_DIED, REFUSED, HostError

_T = TypeVar("_T")

MAX_DEATHS = 3
"""Deaths of the host, during starts of one suspect alone, after which the connector is FAILED."""

TRIAL_TIMEOUT = 10.0
"""Seconds after which the next suspect is started even if the previous start has not returned."""


class StartTrials:
    """The start trials of all connectors of a worker. Event loop only."""

    def __init__(self, turn: asyncio.Lock) -> None:
        """`turn` is held while a suspect starts."""
        self._deaths: dict[str, int] = {}  # of suspects, while they started alone
        self._turn = turn

    async def run(self, name: str, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Returns the result of `start`, which starts a connector. Raises its HostError, which is no longer `temporary`
        if the connector has ended the host MAX_DEATHS times."""
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
        self._deaths[name] = min(deaths, MAX_DEATHS - 1)  # after a manual restart, one more death is enough
        if deaths >= MAX_DEATHS:
            message = f"Starting this connector ended the plugin host {deaths} times; the last time: {death.message}"
            trace = f"org.apache.kafka.connect.errors.ConnectException: {message}\n"
            raise HostError(REFUSED, message, trace) from None
