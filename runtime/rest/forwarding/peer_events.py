"""Notices and progress of the other workers, collected while a client follows this worker's events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.status.events import EventLog
from runtime.rest.forwarding.peers import Peers
from runtime.system.repeating import repeat

COLLECT_INTERVAL = 1.0
"""Seconds between two questions to the other workers."""

FIRST_COLLECTION = 1.0
"""Seconds that a client's events wait for the other workers at most."""

MAX_NOTICES = 200
"""Notices that are taken from one answer, the newest, so that no worker can push all others out of the event log."""


class PeerEvents:
    """Event loop only."""

    def __init__(self, peers: Peers, log: EventLog, progress: ProgressWatch, every: float = COLLECT_INTERVAL) -> None:
        self._peers, self._log, self._progress, self._every = peers, log, progress, every
        self._followers = 0
        self._collecting: asyncio.Task[None] | None = None
        self._collected = asyncio.Event()
        self._latest: dict[str, Any] = {}  # the last response of each worker

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """A client follows the events for the length of the block, which begins when the other workers have been asked
        once: counts without theirs would look like a burst of records a second later."""
        self._followers += 1
        if self._collecting is None:
            collecting = repeat(self._collect, self._every, "collect the events of the other workers")
            self._collecting = asyncio.create_task(collecting, name="peer events")
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_COLLECTION):
                    await self._collected.wait()
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                self._collecting.cancel()
                self._collected.clear()
                self._collecting, self._latest = None, {}
                self._progress.reported({})

    def own(self, after: str | None) -> dict[str, Any]:
        """What this worker tells the others: its notices after the event with this id, and its progress."""
        return {
            "last": self._log.id(self._log.last),
            "notices": self._log.own_notices(after),
            "progress": self._progress.own(),
        }

    async def _collect(self) -> None:
        self._take(await self._peers.ask_all(self._target, "OwnEvents"))
        self._collected.set()

    def _target(self, worker_id: str) -> str:
        latest = self._latest.get(worker_id)
        return f"/events/own?after={quote(latest['last'] if latest else '')}"

    def _take(self, responses: Mapping[str, Any]) -> None:
        """A worker that does not answer keeps its progress as long as it is in the group."""
        answered = {worker: response for worker, response in responses.items() if response is not None}
        known = self._latest | answered
        self._latest = {worker: known[worker] for worker in responses if worker in known}
        self._progress.reported({worker: response["progress"] for worker, response in self._latest.items()})
        for notice in (notice for response in answered.values() for notice in response["notices"][-MAX_NOTICES:]):
            self._log.publish("notice", notice, own=False)
