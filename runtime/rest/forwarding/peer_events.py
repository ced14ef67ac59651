"""Notices and progress of the other workers, collected while a client follows this worker's events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.status.events import EventLog
from runtime.rest.forwarding.peers import Peers
from runtime.system.repeating import repeat

COLLECT_INTERVAL = 1.0
"""Seconds between two questions to the other workers."""

MAX_NOTICES = 200
"""Notices that are taken from one answer, the newest, so that no worker can push all others out of the event log."""


class PeerEvents:
    """Event loop only."""

    def __init__(self, peers: Peers, log: EventLog, progress: ProgressWatch, every: float = COLLECT_INTERVAL) -> None:
        self._peers, self._log, self._progress, self._every = peers, log, progress, every
        self._followers = 0
        self._collecting: asyncio.Task[None] | None = None
        self._last: dict[str, str] = {}  # the id of the last event of each worker

    @contextmanager
    def followed(self) -> Iterator[None]:
        """A client follows the events for the length of the block."""
        self._followers += 1
        if self._collecting is None:
            collecting = repeat(self._collect, self._every, "collect the events of the other workers")
            self._collecting = asyncio.create_task(collecting, name="peer events")
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                self._collecting.cancel()
                self._collecting, self._last = None, {}
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

    def _target(self, worker_id: str) -> str:
        return f"/events/own?after={quote(self._last.get(worker_id, ''))}"

    def _take(self, responses: Mapping[str, Any]) -> None:
        answered = {worker: response for worker, response in responses.items() if response is not None}
        self._progress.reported({worker: response["progress"] for worker, response in answered.items()})
        self._last = {worker: response["last"] for worker, response in answered.items()}
        for notice in (notice for response in answered.values() for notice in response["notices"][-MAX_NOTICES:]):
            self._log.publish("notice", notice, own=False)
