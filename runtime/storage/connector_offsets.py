"""Offsets of all source connectors, in the worker's offset topic and in topics that connectors name.

A connector with its own topic (`offsets.storage.topic`) reads offsets from that topic first, and partitions missing
there from the worker's topic. It commits to both (KIP-618), so that it can return to the worker's topic. The clients of
its own topic are the connector's, with its overrides and thus its principals.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from runtime.api.errors import ConfigError
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem, NotAuthorizedError, StorageTopicError
from runtime.kafka.formats import canonical
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.model.task_spec import SourceOffset
from runtime.storage.offsets import Offset, OffsetStore, Partition
from runtime.storage.port import Logs

OPEN_TIMEOUT = 30.0
"""Seconds that opening a connector's own topic may take."""

_OVERRIDES = ("admin.override.", "consumer.override.", "producer.override.")


@dataclass(frozen=True, slots=True)
class _OwnTopic:
    """A topic that a connector names, and the connector's overrides of clients (variables unresolved)."""

    name: str
    overrides: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Own:
    """An offset topic named by a connector."""

    logs: Logs
    store: OffsetStore


NewLogs = Callable[[LogClients], Logs]
"""Returns the logs for a connector's own topic, which these clients reach."""


def own_logs(clients: LogClients) -> Logs:
    """A NewLogs. Rights that are missing are reported, not awaited."""
    return TopicLogs(clients, await_rights=False)


class OffsetTopicUnusable(KafkaProblem):
    """A connector's own offset topic cannot be used until rights, the topic or the configuration are changed."""


class ConnectorOffsets:
    """Reads and writes offsets of source connectors. Event loop only.

    `clients` returns settings for a configuration; `topic_in` returns the topic that a configuration names, empty for
    the worker's topic. Both raise ConfigError if a variable cannot be resolved. `stored` returns the configuration of a
    stored connector, `names` all connectors."""

    def __init__(
        self,
        worker: OffsetStore,
        spec: Callable[[str], TopicSpec],
        clients: Callable[[Mapping[str, str]], LogClients],
        stored: Callable[[str], Mapping[str, str] | None],
        topic_in: Callable[[Mapping[str, str]], str],
        names: Callable[[], Sequence[str]],
        open_timeout: float = OPEN_TIMEOUT,
        new_logs: NewLogs = own_logs,
    ) -> None:
        """`open_timeout`: seconds that opening a connector's own topic may take."""
        self._open_timeout, self._new_logs = open_timeout, new_logs
        self._worker, self._spec, self._clients = worker, spec, clients
        self._stored, self._topic_in, self._names = stored, topic_in, names
        self._unstored: dict[str, Mapping[str, str]] = {}  # connectors that are being created or deleted
        self._own: dict[_OwnTopic, _Own] = {}
        self._turns: defaultdict[_OwnTopic, asyncio.Lock] = defaultdict(asyncio.Lock)  # of calls that open a topic
        self._wanted: Counter[_OwnTopic] = Counter()  # by calls of open()

    @contextmanager
    def configured(self, name: str, config: Mapping[str, str] | None) -> Iterator[None]:
        """While the block runs, use the topic that this configuration names, for a connector that is not stored yet or
        no longer stored."""
        before = self._unstored.get(name)
        if config is not None:
            self._topic_in(config)  # raises if it cannot be resolved
            self._unstored[name] = config
        try:
            yield
        finally:
            if before is not None:
                self._unstored[name] = before
            elif config is not None:
                del self._unstored[name]

    async def read_to_end(self, name: str | None = None, within: float | None = None) -> None:
        """Apply all offsets committed so far, of one connector or of all. Waits for open transactions with offsets of
        this connector, for `within` seconds or as long as transactions can last. BrokerUnavailable if Kafka does not
        answer, TransactionOpen if such a transaction does not end, OffsetTopicUnusable if waiting would not help."""
        opened = await self.open(name)
        await asyncio.gather(
            self._worker.read_to_end(name, within),
            *(self._read_own(topic, own, name, within) for topic, own in opened.items()),
        )

    async def open(self, name: str | None = None) -> Mapping[_OwnTopic, _Own]:
        """Open and create the offset topics of its own that a connector has, or all connectors have: the topics. A
        producer that asks for a missing one would have the broker create it with other settings. Errors as of
        read_to_end()."""
        wanted = self._all_topics() if name is None else {topic for topic in [self._topic_of(name)] if topic}
        self._wanted += Counter(wanted)  # its connector may be deleted meanwhile
        try:
            opened = dict(zip(wanted, await asyncio.gather(*map(self._opened, wanted)), strict=True))
            if self._own:
                await self._close_unused(self._all_topics() | self._wanted.keys())
        finally:
            self._wanted -= Counter(wanted)
        return opened

    async def _opened(self, topic: _OwnTopic) -> _Own:
        """Open a topic unless it is open. The cluster of another topic may not respond meanwhile."""
        async with self._turns[topic]:
            if topic not in self._own:
                self._own[topic] = await self._open(topic)
            return self._own[topic]

    def offsets(self, name: str) -> list[SourceOffset]:
        """Offsets of a connector, one for each partition."""
        own = self._store_of(name)
        if own is None:
            return self._worker.offsets(name)
        known = own.known(name)
        return [*own.offsets(name), *(o for o in self._worker.offsets(name) if canonical(o.partition) not in known)]

    async def alter(
        self, name: str, offsets: Sequence[tuple[Partition, Offset]], writer: TransactionalWriter | None = None
    ) -> None:
        """Set or reset (None) offsets in every topic of the connector; call read_to_end() first. With a writer
        the offsets are set in one of its transactions; if the connector has its own topic, the worker's topic gets a
        copy afterwards (KIP-618)."""
        own = self._store_of(name)
        if own is None:
            await self._worker.alter(name, offsets, writer)
            return
        await own.alter(name, offsets, writer)
        await self._worker.alter(name, offsets)

    async def commit(self, name: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write offsets committed by a task of a standalone worker, since tasks cannot write the file themselves.
        ConnectError for offsets of other connectors."""
        await self._worker.commit(name, records)

    async def close(self) -> None:
        """Close the connectors' own topics; the worker's topic remains open."""
        for turn in list(self._turns.values()):
            async with turn:
                pass
        await self._close_unused(set())

    def _store_of(self, name: str) -> OffsetStore | None:
        topic = self._topic_of(name) if self._own else None
        own = self._own.get(topic) if topic is not None else None
        return own.store if own is not None else None

    def _all_topics(self) -> set[_OwnTopic]:
        """All topics in use. Takes time proportional to the number of connectors."""
        topics = set()
        for name in (*self._unstored, *self._names()):
            with suppress(ConfigError):  # a connector whose topic cannot be resolved does not run
                if (topic := self._topic_of(name)) is not None:
                    topics.add(topic)
        return topics

    def _topic_of(self, name: str) -> _OwnTopic | None:
        config = self._unstored.get(name) or self._stored(name)
        topic = self._topic_in(config) if config else ""
        if not config or not topic:
            return None
        return _OwnTopic(topic, frozenset((k, v) for k, v in config.items() if k.startswith(_OVERRIDES)))

    async def _read_own(self, topic: _OwnTopic, own: _Own, name: str | None, within: float | None) -> None:
        """A topic on which a right was withdrawn, or that was deleted, is opened again by the next call."""
        try:
            await own.store.read_to_end(name, within)
        except (NotAuthorizedError, StorageTopicError) as e:
            if self._own.get(topic) is own:
                del self._own[topic]
                await own.logs.close()
            raise _unusable(topic, e) from None

    async def _open(self, topic: _OwnTopic) -> _Own:
        clients = await asyncio.to_thread(self._clients, dict(topic.overrides))
        logs = self._new_logs(clients)
        own = _Own(logs, OffsetStore(logs, self._spec(topic.name)))
        try:
            async with asyncio.timeout(self._open_timeout):
                await logs.start()
        except TimeoutError:
            await logs.close()
            why = logs.error or f"no response within {self._open_timeout:g} seconds"
            raise BrokerUnavailable(f"offset topic {topic.name} cannot be read: {why}") from None
        except (NotAuthorizedError, StorageTopicError) as e:
            await logs.close()
            raise _unusable(topic, e) from None
        except BaseException:
            await logs.close()
            raise
        return own

    async def _close_unused(self, used: set[_OwnTopic]) -> None:
        unused = [self._own.pop(topic) for topic in self._own.keys() - used]  # before others can find them meanwhile
        for topic in [topic for topic, turn in self._turns.items() if topic not in used and not turn.locked()]:
            del self._turns[topic]
        for own in unused:
            await own.logs.close()


def _unusable(topic: _OwnTopic, why: KafkaProblem) -> OffsetTopicUnusable:
    return OffsetTopicUnusable(f"offsets.storage.topic={topic.name} cannot be used: {why}")
