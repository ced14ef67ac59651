"""Requests between the workers of a Connect cluster: those of Connect (KIP-507), and Headrace's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.herder.control.connector_loop import SETTLE_TIMEOUT
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import BadRequest, Conflict
from runtime.herder.fencing.zombie_fencing import ZombieFencing
from runtime.herder.herder import Herder
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore

LOCK_WAIT = 2.0
"""Seconds that task configs wait for another request for their connector, which may be waiting for their sender."""


class InternalRequests:
    """Answers requests of other workers. Event loop only."""

    def __init__(self, herder: Herder, configs: ConfigStore, connectors: Connectors, fencing: ZombieFencing) -> None:
        self._herder, self._configs, self._connectors, self._fencing = herder, configs, connectors, fencing

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]], revision: int | None = None) -> None:
        """POST /connectors/{name}/tasks: the task configs that a connector on another worker has generated from this
        revision of its configuration; None from workers that do not name it. Conflict if there is a newer one: a
        request that was slow may belong to a connector that has been deleted and created again."""
        async with self._herder.exclusive(name, LOCK_WAIT):
            stored = self._herder.stored(name)
            if revision is not None and revision < stored.revision:
                raise Conflict(
                    f"The configuration of connector {name} has changed since its task configs were generated"
                )
            if configs and stored.target is TargetState.STOPPED:
                raise BadRequest(f"Cannot submit non-empty set of task configs for stopped connector {name}")
            await self._configs.put_tasks(name, configs)

    async def fence(self, name: str) -> None:
        """PUT /connectors/{name}/fence: fences earlier tasks of an exactly-once source, if they may still run."""
        await self._fencing.fence_earlier(name)

    async def check_settled(self, name: str, within: float) -> None:
        """POST /connectors/{name}/settled: Conflict if the connector does not reach its stored target state on this
        worker within so many seconds."""
        await self._configs.read_to_end()  # so that the leader's change is applied here
        if not await self._connectors.settled(name, min(within, SETTLE_TIMEOUT)):
            raise Conflict(f"Connector {name} has not reached its target state yet")
