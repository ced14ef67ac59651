"""Fencing by a worker that is about to start tasks of an exactly-once source (KIP-618)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from runtime.config.exactly_once import task_transactional_id
from runtime.config.worker_config import WorkerConfig
from runtime.engine.port import StartRefused
from runtime.herder.control.tasks import FencingFailed
from runtime.herder.errors import BadRequest, HerderError
from runtime.herder.fencing.zombie_fencing import Fence
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem
from runtime.kafka.fencing import fence
from runtime.storage.configs import ConfigStore


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
