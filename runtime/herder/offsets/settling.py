"""Waits until a connector's tasks have ended on every worker of the group, so that its offsets may change (KIP-875)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Protocol

from runtime.herder.control.connector_loop import SETTLE_TIMEOUT
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import HerderError
from runtime.herder.group.group import Group, GroupWorkerInfo
from runtime.storage.statuses import StatusStore

POLL_INTERVAL = 0.1
"""Seconds between two looks at the statuses that workers of another implementation write."""


class SettlingPeers(Protocol):
    """The other Headrace workers, which report when a connector has settled there."""

    async def settled(self, worker: GroupWorkerInfo, connector: str, within: float) -> bool:
        """Whether the connector has reached its target state on the worker. HerderError if it cannot be asked."""


class GroupSettling:
    """Event loop only."""

    def __init__(
        self, connectors: Connectors, statuses: StatusStore, group: Group, peers: SettlingPeers,
        timeout: float = SETTLE_TIMEOUT,
    ) -> None:  # fmt: skip
        self._connectors, self._statuses, self._group, self._peers = connectors, statuses, group, peers
        self._timeout = timeout

    async def unsettled(self, name: str) -> str | None:
        """The reason why tasks of the connector may still be running, which names the workers; None if all have
        ended. Waits for them."""
        foreign = [w.worker_id for w in self._group.snapshot.workers if w.implementation != "headrace"]
        reasons = await asyncio.gather(
            self._unsettled_here(name), *(self._unsettled_at(peer, name) for peer in self._group.peers()),
            self._unsettled_at_foreign(name, foreign),
        )  # fmt: skip
        return "; ".join(reason for reason in reasons if reason is not None) or None

    async def _unsettled_here(self, name: str) -> str | None:
        settled = await self._connectors.settled(name, self._timeout)
        return None if settled else f"tasks of connector {name} have not stopped yet on this worker"

    async def _unsettled_at(self, peer: GroupWorkerInfo, name: str) -> str | None:
        try:
            settled = await self._peers.settled(peer, name, self._timeout)
        except HerderError as e:
            return f"it is unknown whether tasks of connector {name} have stopped on worker {peer.worker_id}: {e}"
        return None if settled else f"tasks of connector {name} have not stopped yet on worker {peer.worker_id}"

    async def _unsettled_at_foreign(self, name: str, workers: Collection[str]) -> str | None:
        """Other implementations remove the status of a task when it has ended."""
        running = self._tasks_at(name, workers)
        try:
            async with asyncio.timeout(self._timeout):
                while running:
                    await asyncio.sleep(POLL_INTERVAL)
                    running = self._tasks_at(name, workers)
        except TimeoutError:
            at = ", ".join(sorted(running))
            return f"tasks of connector {name} have not stopped yet on {at}, which still has statuses of them"
        return None

    def _tasks_at(self, name: str, workers: Collection[str]) -> set[str]:
        return {s.worker_id for s in self._statuses.task_statuses(name).values() if s.worker_id in workers}
