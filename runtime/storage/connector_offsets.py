"""Offsets of all connectors: in the worker's topic, and in topics of their own where connectors name one.

A connector with a topic of its own (`offsets.storage.topic`) reads there first and in the worker's topic where that
says nothing; what it commits is written to both (KIP-618), so that it can go back.
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
    """A topic that some connector keeps its offsets in."""

    logs: TopicLogs
    store: OffsetStore


class ConnectorOffsets:
    """Event loop only. `stored_topic` returns the own topic of a stored connector, `topic_in` the topic named in a
    config, or nothing; ConfigError if a variable is refused. `names` are all connectors."""

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
        self._unstored: dict[str, str] = {}  # topics of connectors that are being made or deleted
        self._own: dict[str, _Own] = {}
        self._opening = asyncio.Lock()

    @contextmanager
    def configured(self, name: str, config: Mapping[str, str] | None) -> Iterator[None]:
        """Meanwhile the connector's offsets are where this config says, though it is not stored yet, or no more."""
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
        """Whatever has been committed up to now is known: of one connector, or of all."""
        wanted = self._topics() if name is None else {self._topic_of(name)} - {""}
        async with self._opening:
            for topic in wanted - set(self._own):
                self._own[topic] = await self._open(topic)
            if self._own:
                await self._close_unused(self._topics())
        await self._worker.read_to_end()
        await asyncio.gather(*(self._own[topic].store.read_to_end() for topic in wanted))

    def offsets(self, name: str) -> list[SourceOffset]:
        """Partitions of a connector that have an offset, each once."""
        shared = {canonical(o.partition): o for o in self._worker.offsets(name)}
        own = self._store_of(name)
        if own is None:
            return list(shared.values())
        known = own.known(name)
        return [*own.offsets(name), *(o for text, o in shared.items() if text not in known)]

    async def alter(self, name: str, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Set or reset (None) offsets, wherever they are kept; call read_to_end() first."""
        own = self._store_of(name)
        if own is not None:
            await own.alter(name, offsets)
        await self._worker.alter(name, offsets)

    async def commit(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """What a task has committed, where tasks do not write themselves: such a worker has one place for offsets."""
        await self._worker.commit(records)

    async def close(self) -> None:
        """Close the topics that connectors have of their own; the worker's is not ours."""
        async with self._opening:
            await self._close_unused(set())

    def _store_of(self, name: str) -> OffsetStore | None:
        own = self._own.get(self._topic_of(name)) if self._own else None
        return own.store if own is not None else None

    def _topics(self) -> set[str]:
        """All that are in use. With a thousand connectors this takes a while: not to be asked for each of them."""
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
