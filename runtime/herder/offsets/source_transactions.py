"""Transactions in which the offsets of exactly-once sources are changed, as Connect does (KIP-875, KIP-618)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config.exactly_once import task_transactional_id
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.task_specs import offsets_topic
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.log.transactional_writer import TransactionalWriter

NewWriter = Callable[[Mapping[str, Any], str], TransactionalWriter]
"""Arguments: librdkafka settings that reach the cluster, and the transactional id."""


class SourceTransactions:
    """Event loop only."""

    def __init__(self, worker: WorkerConfig, host: ResolvingHost, new_writer: NewWriter = TransactionalWriter) -> None:
        self._worker, self._host, self._new_writer = worker, host, new_writer

    @asynccontextmanager
    async def writer(self, name: str, config: Mapping[str, str] | None) -> AsyncIterator[TransactionalWriter | None]:
        """A started writer with the transactional id of the connector's first task, which it fences; None if offsets
        are not written in transactions. Errors as of TransactionalWriter.start()."""
        if config is None or not self._worker.exactly_once.transactional_tasks:
            yield None
            return
        try:
            resolved = await self._host.resolve_stored(name, config)
        except ConfigError as e:
            raise KafkaProblem(f"the configuration of connector {name} cannot be resolved: {e}") from None
        settings = client_config(self._worker.originals, "producer", resolved).settings
        writer = self._new_writer(settings, task_transactional_id(self._worker.group_id, name, 0))
        try:
            await writer.start(offsets_topic(self._worker, resolved) or self._worker.offsets.topic)
            yield writer
        finally:
            await writer.stop()
