"""Stored offsets of connectors: a source's in the offset topic, a sink's in its consumer group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config.exactly_once import task_transactional_id
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.configs.task_specs import offsets_topic
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import GroupError, KafkaProblem, StorageTopicError, TransactionOpen
from runtime.kafka.groups import Groups, TopicPartition
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.journal import OffsetEntry

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


TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"

SHOWN_WAIT = 4.0
"""Seconds for which a request that only shows offsets waits for open transactions."""


class StoredOffsets:
    """Reads and writes offsets in KIP-875's shape; `group` is None for sources. Event loop only.

    Every call raises BrokerUnavailable if Kafka does not answer and GroupError if Kafka refuses; every call may be
    repeated."""

    def __init__(
        self, store: ConnectorOffsets, clusters: SinkClusters, transactions: SourceTransactions | None = None,
        used: Callable[[str], None] = lambda name: None,
    ) -> None:  # fmt: skip
        """`transactions` for offsets of sources; without them offsets are not written in transactions. `used` is called
        when the configuration of a connector that may not be stored is no longer in use."""
        self._store, self._clusters, self._transactions, self._used = store, clusters, transactions, used
        self._configs: dict[str, Mapping[str, str] | None] = {}
        self._confirm: dict[str, Callable[[], Awaitable[None]]] = {}

    @contextmanager
    def configured(self, name: str, config: Mapping[str, str] | None) -> Iterator[None]:
        """While the block runs, use the offset topic and the clients that this configuration describes, for a
        connector that is not stored yet or no longer stored."""
        before, self._configs[name] = self._configs.get(name), config
        try:
            with self._store.configured(name, config):
                yield
        finally:
            self._configs[name] = before
            if before is None:
                del self._configs[name]
                self._used(name)

    @contextmanager
    def confirmed(self, name: str, confirm: Callable[[], Awaitable[None]]) -> Iterator[None]:
        """While the block runs, await `confirm` after a transactional writer has been started and before it writes.

        `confirm` raises WriterFenced if another worker leads. Workers that take over the leadership later start a
        writer with the same transactional id before they allow other changes, which ends this one."""
        self._confirm[name] = confirm
        try:
            yield
        finally:
            del self._confirm[name]

    async def read(self, name: str, group: str | None) -> list[OffsetEntry]:
        """All offsets of a connector."""
        if group is not None:
            committed = await (await self._groups(name)).committed(group)
            return [sink_entry(t, p, o) for (t, p), o in sorted(committed.items())]
        await self._store.read_to_end(name)
        return [(o.partition, o.offset) for o in self._store.offsets(name)]

    async def shown(self, name: str, group: str | None) -> list[OffsetEntry]:
        """As read(), for requests that only show offsets. An open transaction of the connector, which a killed process
        may have left, delays the response by SHOWN_WAIT seconds at most; its offsets are not included. If the worker's
        offset topic was deleted, the offsets that this worker has read from it, which can be set again."""
        if group is not None:
            return await self.read(name, group)
        with suppress(TransactionOpen, StorageTopicError):
            await self._store.read_to_end(name, SHOWN_WAIT)
        return [(o.partition, o.offset) for o in self._store.offsets(name)]

    async def set(self, name: str, group: str | None, offsets: Sequence[OffsetEntry]) -> None:
        """Set the offsets of these partitions; None removes an offset. If a partition occurs twice, the last wins."""
        if group is None:
            async with self._transaction(name) as writer:  # before reading: it ends an open transaction
                if writer is not None and name in self._confirm:
                    await self._confirm[name]()
                await self._store.read_to_end(name)
                await self._store.alter(name, list(offsets), writer)
            return
        wanted = topic_partitions(offsets)
        groups = await self._evict_ours(name, group)
        await groups.alter(group, {tp: o for tp, o in wanted.items() if o is not None})
        await groups.delete_offsets(group, [tp for tp, o in wanted.items() if o is None])

    def _transaction(self, name: str) -> AbstractAsyncContextManager[TransactionalWriter | None]:
        if self._transactions is None:
            return nullcontext()
        return self._transactions.writer(name, self._configs.get(name))

    async def wipe(self, name: str, group: str | None) -> None:
        """Remove all offsets of a connector."""
        if group is None:
            await self.set(name, None, [(partition, None) for partition, _ in await self.read(name, None)])
            return
        await (await self._evict_ours(name, group)).delete(group)

    async def check_sink(self, name: str, group: str, offsets: Sequence[OffsetEntry]) -> None:
        """Raises GroupError if Kafka would refuse these offsets: a partition does not exist, or there is nothing to
        reset."""
        groups = await self._groups(name)
        await groups.check_partitions(topic_partitions(offsets))
        if all(offset is None for _, offset in offsets) and not await groups.exists(group):
            raise GroupError(f"the consumer group {group} does not exist, so there are no offsets to reset")

    async def _groups(self, name: str) -> Groups:
        return (await self._clusters.of(name, self._configs.get(name))).groups

    async def _evict_ours(self, name: str, group: str) -> Groups:
        """Evict members that died without leaving: a stopped connector has no members. Returns the groups of the
        connector's cluster."""
        groups, prefix = await self._groups(name), task_specs.client_id("consumer", name, 0)[:-1]
        members = {m.member_id for m in await groups.members(group) if m.client_id.startswith(prefix)}
        if members:
            await groups.evict(group, members)
        return groups


def sink_entry(topic: str, partition: int, offset: int | None) -> OffsetEntry:
    """An offset of a sink in KIP-875's shape."""
    return {PARTITION: partition, TOPIC: topic}, None if offset is None else {OFFSET: offset}


def topic_partitions(entries: Sequence[OffsetEntry]) -> dict[TopicPartition, int | None]:
    """The reverse of sink_entry(), for checked entries."""
    return {_partition(p or {}): None if o is None else int(o[OFFSET]) for p, o in entries}


def _partition(partition: dict[str, Any]) -> TopicPartition:
    return str(partition[TOPIC]), int(partition[PARTITION])
