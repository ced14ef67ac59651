"""Offsets of all source connectors, in the worker's offset topic and in topics that connectors name.

A connector with its own topic (`offsets.storage.topic`) reads offsets from that topic first, and partitions missing
there from the worker's topic. It commits to both (KIP-618), so that it can return to the worker's topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConfigError
from runtime.kafka.formats import canonical
from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.model.task_spec import SourceOffset
from runtime.storage.offsets import Offset, OffsetStore, Partition

OPEN_TIMEOUT = 30.0
"""Seconds that opening a connector's own topic may take."""


@dataclass(frozen=True, slots=True)
class _Own:
    """An offset topic named by a connector."""

    logs: TopicLogs
    store: OffsetStore


class ConnectorOffsets:
    """Reads and writes offsets of source connectors. Event loop only.

    `stored_topic` returns a stored connector's own topic, `topic_in` the topic named in a configuration; both return an
    empty text for the worker's topic, and raise ConfigError if a variable cannot be resolved. `names` returns all
    connectors."""

    def __init__(
        self,
        worker: OffsetStore,
        spec: Callable[[str], TopicSpec],
        settings: Mapping[str, Any],
        stored_topic: Callable[[str], str],
        topic_in: Callable[[Mapping[str, str]], str],
        names: Callable[[], Sequence[str]],
    ) -> None:
        self._worker, self._spec, self._settings = worker, spec, settings
        self._stored_topic, self._topic_in, self._names = stored_topic, topic_in, names
        self._unstored: dict[str, str] = {}  # topics of connectors that are being created or deleted
        self._own: dict[str, _Own] = {}
        self._opening = asyncio.Lock()

    @contextmanager
    def configured(self, name: str, config: Mapping[str, str] | None) -> Iterator[None]:
        """While the block runs, use the topic that this configuration names, for a connector that is not stored yet or
        no longer stored."""
        before = self._unstored.get(name)
        if config is not None:
            self._unstored[name] = self._topic_in(config)
        try:
            yield
        finally:
            if before is not None:
                self._unstored[name] = before
            elif config is not None:
                del self._unstored[name]

    async def read_to_end(self, name: str | None = None) -> None:
        """Apply all offsets committed so far, of one connector or of all. Waits for open transactions with offsets of
        this connector. BrokerUnavailable if Kafka does not answer or such a transaction does not end."""
        wanted = self._topics() if name is None else {self._topic_of(name)} - {""}
        async with self._opening:
            for topic in wanted - set(self._own):
                self._own[topic] = await self._open(topic)
            if self._own:
                await self._close_unused(self._topics())
        stores = [self._worker, *(self._own[topic].store for topic in wanted)]
        await asyncio.gather(*(store.read_to_end(name) for store in stores))

    def offsets(self, name: str) -> list[SourceOffset]:
        """Offsets of a connector, one for each partition."""
        shared = {canonical(o.partition): o for o in self._worker.offsets(name)}
        own = self._store_of(name)
        if own is None:
            return list(shared.values())
        known = own.known(name)
        return [*own.offsets(name), *(o for text, o in shared.items() if text not in known)]

    async def alter(self, name: str, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Set or reset (None) offsets in every topic of the connector; call read_to_end() first."""
        own = self._store_of(name)
        if own is not None:
            await own.alter(name, offsets)
        await self._worker.alter(name, offsets)

    async def commit(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write offsets committed by a task of a standalone worker, since tasks cannot write the file themselves."""
        await self._worker.commit(records)

    async def close(self) -> None:
        """Close the connectors' own topics; the worker's topic remains open."""
        async with self._opening:
            await self._close_unused(set())

    def _store_of(self, name: str) -> OffsetStore | None:
        own = self._own.get(self._topic_of(name)) if self._own else None
        return own.store if own is not None else None

    def _topics(self) -> set[str]:
        """All topics in use. Takes time proportional to the number of connectors."""
        found = set(self._unstored.values())
        for name in self._names():
            with suppress(ConfigError):  # a connector whose topic cannot be resolved does not run
                found.add(self._topic_of(name))
        return found - {""}

    def _topic_of(self, name: str) -> str:
        unstored = self._unstored.get(name)
        return self._stored_topic(name) if unstored is None else unstored

    async def _open(self, topic: str) -> _Own:
        logs = TopicLogs(self._settings)
        own = _Own(logs, OffsetStore(logs, self._spec(topic)))
        try:
            async with asyncio.timeout(OPEN_TIMEOUT):
                await logs.start()
        except BaseException:
            await logs.close()
            raise
        return own

    async def _close_unused(self, used: set[str]) -> None:
        for topic in set(self._own) - used:
            await self._own.pop(topic).logs.close()
