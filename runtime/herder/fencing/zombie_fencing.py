"""The leader's rounds of fencing (KIP-618).

The leader stores in the config topic how many tasks of a connector may have run. When task configs have been written
after that record, all of these tasks are fenced before the record is replaced and the new tasks start."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from runtime.config.exactly_once import task_transactional_id
from runtime.config.worker_config import WorkerConfig
from runtime.engine.port import StartRefused
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.tasks import FencingFailed
from runtime.herder.errors import BadRequest, Conflict, HerderError
from runtime.herder.herder import Herder
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem
from runtime.kafka.fencing import fence
from runtime.model.states import ConnectorType
from runtime.storage.configs import ConfigStore, StoredConnector, TaskConfigsChanged


class TaskFencing:
    """Implements SourceFencing. Event loop only."""

    def __init__(
        self, worker: WorkerConfig, configs: ConfigStore, at_leader: Callable[[str], Awaitable[None]],
        send: Fence = fence,
    ) -> None:  # fmt: skip
        """`at_leader` lets the group's leader fence the tasks that ran with earlier task configs of a connector."""
        self._worker, self._configs, self._at_leader, self._send = worker, configs, at_leader, send

    async def before_start(self, name: str, config: Mapping[str, str], tasks: Collection[int]) -> None:
        try:
            if self._configs.pending_fencing(name):
                await self._at_leader(name)
            settings = client_config(self._worker.originals, "producer", config).settings
            await self._send(settings, [task_transactional_id(self._worker.group_id, name, task) for task in tasks])
        except BrokerUnavailable:
            raise
        except HerderError as e:
            if e.status not in (HerderError.status, BadRequest.status):
                raise
            raise FencingFailed(str(e)) from None
        except KafkaProblem as e:  # also an invalid client setting
            raise FencingFailed(str(e)) from None

    async def check_current(self, name: str, generation: int) -> None:
        await self._configs.read_to_end()  # this worker may have been suspended
        stored = self._configs.connector(name)
        if stored is None or stored.generation != generation:
            raise StartRefused("the connector has other task configs by now")
        if self._configs.pending_fencing(name):
            raise StartRefused("earlier tasks of the connector have to be fenced first")


log = logging.getLogger(__name__)

Fence = Callable[[Mapping[str, Any], Collection[str]], Awaitable[None]]
"""kafka.fencing.fence: arguments are librdkafka settings and transactional ids."""


class ZombieFencing:
    """Fences the tasks that ran with earlier task configs. Event loop only."""

    def __init__(
        self, worker: WorkerConfig, herder: Herder, configs: ConfigStore, host: ResolvingHost, send: Fence = fence
    ) -> None:
        self._worker, self._herder, self._configs, self._host, self._send = worker, herder, configs, host, send
        self._rounds = ConnectorLocks()

    async def fence_earlier(self, name: str) -> None:
        """Fence the tasks of a connector that ran with earlier task configs; does nothing if that has been done.

        Conflict if this worker does not lead or the task configs are being changed, BrokerUnavailable if Kafka does not
        answer, HerderError if Kafka refuses."""
        async with self._rounds.hold(name):  # a second round would fence the tasks that the first one has permitted
            self._herder.check_leads()
            await self._configs.read_to_end()
            stored = self._herder.stored(name)
            if await self._herder.type(stored.config) == ConnectorType.SINK:
                raise BadRequest(f"Connector {name} is not a source connector")
            if self._configs.pending_fencing(name):
                await self._round(stored)

    async def _round(self, stored: StoredConnector) -> None:
        """A connector without a task count has never run exactly once. A single task is fenced by the single task that
        replaces it."""
        earlier = self._configs.fencing_counts.get(stored.name)
        if earlier is not None and (earlier, len(stored.tasks)) != (1, 1):
            await self._fence(stored, earlier)
        self._herder.check_leads()
        try:
            await self._configs.put_fencing_count(stored)
        except TaskConfigsChanged:
            raise Conflict(f"The task configs of connector {stored.name} have changed meanwhile; try again") from None

    async def _fence(self, stored: StoredConnector, tasks: int) -> None:
        name = stored.name
        config = await self._host.resolve_stored(name, stored.config)
        settings = client_config(self._worker.originals, "admin", config, client_id=f"connector-adminclient-{name}")
        log.info("%s: fencing %d earlier task(s)", name, tasks)
        try:
            ids = [task_transactional_id(self._worker.group_id, name, task) for task in range(tasks)]
            await self._send(settings.settings, ids)
        except BrokerUnavailable:
            raise
        except KafkaProblem as e:
            raise HerderError(f"Failed to perform zombie fencing of connector {name}: {e}") from None
