"""Cordoned and draining workers, as documents in the journal topic: every worker reads them, the leader writes them.

A document belongs to a worker id, not to a membership: it survives restarts of that worker and of the leader."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from runtime.herder.group.group import WorkerState
from runtime.storage.documents import Documents

_PREFIX = "worker:"
_STATES = (WorkerState.CORDONED, WorkerState.DRAINING)


class Cordons:
    """Event loop only. A change takes effect with the next rebalance, which the caller requests."""

    def __init__(self, documents: Documents, clock: Callable[[], float] = time.time) -> None:
        self._documents, self._clock = documents, clock

    def states(self) -> Mapping[str, WorkerState]:
        """The state of each worker id that is cordoned or draining."""
        found = {}
        for key in self._documents.keys(_PREFIX):
            state = (self._documents.get(key) or {}).get("state")
            if state in _STATES:
                found[key.removeprefix(_PREFIX)] = WorkerState(state)
        return found

    async def put(self, worker_id: str, state: WorkerState, who: str) -> None:
        """Store that a worker is CORDONED or DRAINING. `who` is the user who requested it."""
        document = {"state": state.value, "since": int(self._clock() * 1000), "who": who}
        await self._documents.put(_PREFIX + worker_id, document)

    async def remove(self, worker_ids: Collection[str]) -> None:
        """Let these workers receive connectors and tasks again."""
        await self._documents.remove(*(_PREFIX + worker_id for worker_id in worker_ids))
