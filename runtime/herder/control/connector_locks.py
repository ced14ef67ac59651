"""Locks that serialize the requests for each connector; requests for different connectors run concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from runtime.herder.errors import Conflict


class ConnectorLocks:
    """One lock per connector name, also for names that do not exist yet. Event loop only."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # kept while locks are in use

    @asynccontextmanager
    async def hold(self, name: str, within: float | None = None) -> AsyncIterator[None]:
        """Waits for earlier requests for this connector; later requests wait until the block ends. Conflict if
        earlier requests take longer than `within` seconds."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        try:
            async with asyncio.timeout(within):
                await lock.acquire()
        except TimeoutError:
            raise Conflict(f"Another request for connector {name} is in progress; try again") from None
        try:
            yield
        finally:
            lock.release()

    def __len__(self) -> int:
        return len(self._locks)
