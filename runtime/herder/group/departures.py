"""When workers left the group, in Headrace's own topic.

Tasks wait for a worker that may return, even if the leader that noticed its departure dies
(`scheduled.rebalance.max.delay.ms`)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from runtime.kafka.errors import KafkaProblem
from runtime.storage.documents import Documents

_log = logging.getLogger(__name__)
_KEY = "departures"


@dataclass(frozen=True, slots=True)
class _Departure:
    at: float  # time.time() of the leader that noticed it
    read: float  # time.monotonic() of this worker when it read the record


class Departures:
    """Read by every worker, written by the leader. Event loop only.

    The clock of the leader that noticed a departure may differ from this worker's: a departure is never later than the
    moment at which this worker read of it, so that no clock prolongs the delay."""

    def __init__(self, documents: Documents, clock: Callable[[], float] = time.time) -> None:
        self._documents, self._clock = documents, clock
        self._noting = asyncio.Lock()
        self._absent: dict[str, _Departure] = {}
        documents.follow(_KEY, self._read)

    def _read(self, key: str, exists: bool) -> None:
        now, before = time.monotonic(), self._absent
        self._absent = {w: _Departure(at, now) for w, at in self._recorded().items()}
        self._absent |= {w: d for w, d in before.items() if w in self._absent and self._absent[w].at == d.at}

    def _recorded(self) -> dict[str, float]:
        document = self._documents.get(_KEY) or {}
        return {worker: float(at) for worker, at in document.items()}

    def times(self) -> Mapping[str, float]:
        """The time (time.time()) at which each absent worker left, by worker id."""
        now, elapsed = self._clock(), time.monotonic()
        return {worker: min(d.at, now - (elapsed - d.read)) for worker, d in self._absent.items()}

    async def note(self, awaited: Collection[str], present: Collection[str], delay: float) -> None:
        """Record the workers that have left since the last rebalance, of those for whose return units wait; remove
        those that have returned or for which no unit waits any longer. `delay` is in seconds."""
        now = self._clock()
        async with self._noting:  # in the order of the rebalances
            before, times = self._recorded(), self.times()
            after = {w: at for w, at in before.items() if w not in present and times[w] + delay > now}
            after |= {worker: now for worker in awaited if worker not in present and worker not in before}
            if after != before:
                try:
                    await self._documents.put(_KEY, dict(after))
                except KafkaProblem as e:
                    _log.warning("Cannot record which workers have left the group: %s", e)
