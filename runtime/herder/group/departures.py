"""When workers left the group, in Headrace's own topic.

Tasks wait for a worker that may return, even if the leader that noticed its departure dies
(`scheduled.rebalance.max.delay.ms`)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping

from runtime.kafka.errors import KafkaProblem
from runtime.storage.documents import Documents

_log = logging.getLogger(__name__)
_KEY = "departures"


class Departures:
    """Read by every worker, written by the leader. Event loop only."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._noting = asyncio.Lock()

    def times(self) -> Mapping[str, float]:
        """The time (time.time()) at which each absent worker left, by worker id."""
        found = self._documents.get(_KEY) or {}
        return {worker: float(at) for worker, at in found.items()}

    async def note(self, known: Collection[str], present: Collection[str], delay: float) -> None:
        """Record the workers that have left since the last rebalance, and remove those that have returned or for which
        no unit waits any longer. `delay` is in seconds."""
        now = time.time()
        async with self._noting:  # in the order of the rebalances
            before = self.times()
            after = {worker: at for worker, at in before.items() if worker not in present and at + delay > now}
            after |= {worker: now for worker in known if worker not in present and worker not in before}
            if after != before:
                try:
                    await self._documents.put(_KEY, dict(after))
                except KafkaProblem as e:
                    _log.warning("Cannot record which workers have left the group: %s", e)
