"""Compacted topics as shared tables: the log under the config, status and offset stores."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from runtime.kafka.clients.client_log import LogThrottle
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem, NotAuthorizedError, StorageTopicError
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.end_offsets import EndOffsets
from runtime.kafka.log.inbox import LoopInbox
from runtime.kafka.log.open_tail import Awaited
from runtime.kafka.log.reader import FETCH_WAIT, LogRecord, Position, ReadBatch, Reader, ReaderEvents
from runtime.kafka.log.tail_fetch import TailFetcher
from runtime.kafka.log.tail_reader import CommittedReader, TailReader
from runtime.kafka.log.topic_watch import CHECK_INTERVAL, recreated_message
from runtime.kafka.log.topics import TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.kafka.log.writer import Writer
from runtime.system.loop_turns import LoopTurns

_log = logging.getLogger(__name__)
_TIMEOUT = 30.0  # seconds until a write is read back, as in Connect
_MAX_UNACKNOWLEDGED = 500  # records of one call: a few milliseconds of the event loop, and room in the client
_SECONDS_PER_RECORD = 0.001  # in addition to the timeout of a call
_FLUSH_TIMEOUT = 5.0  # seconds for pending records at close

Apply = Callable[[Sequence[LogRecord]], None]
Record = tuple[bytes, "bytes | None"]  # key, value
Written = tuple[int, int]  # partition, offset

__all__ = ["Awaited", "LogRecord", "TopicLog", "TopicLogs", "TopicSpec"]


@dataclass(frozen=True, slots=True)
class _Sent:
    """A record that has been sent. `ends` are the offsets up to which each partition had been read: a lower offset of
    the record means that the topic was deleted and created again."""

    topic: str
    future: asyncio.Future[Written]
    ends: Mapping[int, int]


class TopicLogs:
    """The storage topics of one worker: one reader thread, one producer thread. Event loop only.

    `settings` are librdkafka settings that reach the cluster (`bootstrap.servers`, security), of all clients or of each
    kind. `watch_every`: seconds between two checks whether a topic was deleted. `fetch_wait`: milliseconds for which a
    fetch waits for records (FETCH_WAIT, or FETCH_WAIT_TRANSACTIONS for topics that are written in transactions).
    `await_rights`: wait for rights that are missing. Otherwise start() fails with RightMissing, and so does each
    read_to_end() after a right has been withdrawn: these logs then have to be closed and opened again."""

    def __init__(
        self, settings: Mapping[str, Any] | LogClients, timeout: float = _TIMEOUT, watch_every: float = CHECK_INTERVAL,
        fetch_wait: int = FETCH_WAIT, await_rights: bool = True,
    ) -> None:  # fmt: skip
        self._clients = settings if isinstance(settings, LogClients) else LogClients.alike(settings)
        self._settings, self._watch_every = dict(self._clients.admin), watch_every
        self._fetch_wait, self._await_rights = fetch_wait, await_rights
        self._timeout = timeout
        self._logs: dict[str, TopicLog] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # by topic, of calls that write
        self._positions: dict[Position, int] = {}
        self._waiters: dict[asyncio.Future[None], dict[Position, int]] = {}
        self._ends = EndOffsets(self._settings, self._positions, self._suspect, timeout)
        self._tails = TailReader(
            CommittedReader(self._position, self._reached, self._apply_directly), TailFetcher(self._clients.consumer)
        )
        self._writer = Writer(self._clients.producer, self._suspect)
        self._throttle = LogThrottle()
        self._reader: Reader | None = None
        self._loop: asyncio.AbstractEventLoop
        self._inbox: LoopInbox
        self._loaded: asyncio.Future[None]
        self.cluster_id = ""
        self.lost = ""  # the reason why a topic in use was lost; permanent
        self._lost_topic = ""
        self._broker = ""
        self._failed: KafkaProblem | None = None  # the reader has ended
        self._denied: dict[str, str] = {}  # by topic, while the right to write is missing

    @property
    def error(self) -> str:
        """The reason why the topics cannot be used; empty while they can."""
        return self.lost or self._broker or next(iter(self._denied.values()), "")

    def open(self, spec: TopicSpec, apply: Apply) -> TopicLog:
        """Add a topic, before start(). `apply` is called with its records in order, on the event loop."""
        log = self._logs[spec.topic] = TopicLog(self, spec, apply)
        return log

    async def start(self) -> None:
        """Wait for Kafka as long as necessary, create or check the topics, and read them to their ends.

        StorageTopicError if a topic cannot be used, NotAuthorizedError if it may not be created, or without the right
        to read it unless start() waits for rights."""
        self._loop = asyncio.get_running_loop()
        self._inbox = LoopInbox(self._loop)
        post = self._inbox.post
        self._loaded = self._loop.create_future()
        events = ReaderEvents(
            read=partial(post, self._apply),
            loaded=partial(post, self._on_loaded),
            failed=partial(post, self._on_failed),
            broker=partial(post, setattr, self, "_broker"),
            lost=partial(post, self._lose),
        )
        specs = [log.spec for log in self._logs.values()]
        self._reader = Reader(self._clients, specs, events, self._watch_every, self._fetch_wait, self._await_rights)
        self._reader.start()
        await asyncio.to_thread(self._writer.start)
        await self._loaded

    async def close(self) -> None:
        """Write pending records and end both threads. Waiting calls raise BrokerUnavailable."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(BrokerUnavailable("the worker is shutting down"))
        await asyncio.to_thread(self._writer.close, _FLUSH_TIMEOUT)
        if self._reader is not None:
            await asyncio.to_thread(self._reader.close)
            await self._inbox.drained()
            self._loaded.cancel()
        self._ends.close()

    async def _read_to_end(self, topic: str, awaited: Awaited | None = None) -> None:
        if self._failed is not None:
            raise self._failed
        if topic == self._lost_topic:
            raise StorageTopicError(self.lost)
        try:
            async with asyncio.timeout(self._timeout):
                if awaited is None:
                    await self._reached(await self._ends.committed(topic))
                    return
                committed, ends = await asyncio.gather(self._ends.committed(topic), self._ends.uncommitted(topic))
                await self._reached(committed)
        except TimeoutError as e:
            raise self._unavailable(f"topic {topic} could not be read to its end", e) from None
        await self._tails.read(ends, awaited)

    def _send(self, topic: str, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        future: asyncio.Future[Written] = self._loop.create_future()
        future.add_done_callback(partial(self._note_failure, topic))
        try:
            if self.lost:
                raise StorageTopicError(self.lost)
            sent = _Sent(topic, future, {p: end for (t, p), end in self._positions.items() if t == topic})
            self._writer.send(topic, key, value, lambda *report: self._inbox.post(self._written, sent, *report))
        except KafkaProblem as e:
            future.set_exception(e)
        return future

    def _written(self, sent: _Sent, error: KafkaProblem | None, partition: int, offset: int) -> None:
        if isinstance(error, NotAuthorizedError):
            self._denied[sent.topic] = str(error)
        elif error is None:
            self._denied.pop(sent.topic, None)
            if offset < sent.ends.get(partition, 0):
                self._lose(sent.topic, recreated_message(sent.topic))
                error = StorageTopicError(self.lost)
        _resolve(sent.future, error, partition, offset)

    def _note_failure(self, topic: str, future: asyncio.Future[Written]) -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        if (suppressed := self._throttle.allow(topic, type(error).__name__)) is not None:
            more = f" (and {suppressed} more like this)" if suppressed else ""
            _log.error("A record was not written to topic %s: %s%s", topic, error, more)

    def _lose(self, topic: str, what: str) -> None:
        if not self.lost:
            self.lost, self._lost_topic = what, topic
            _log.error("%s", what)

    async def _write(self, topic: str, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        try:
            async with asyncio.timeout(self._timeout + len(records) * _SECONDS_PER_RECORD):
                ends: dict[Position, int] = {}
                for partition, offset in await self._acknowledged(topic, records, writer):
                    ends[topic, partition] = max(offset + 1, ends.get((topic, partition), 0))
                await self._reached(ends)
        except TimeoutError as e:
            raise self._not_confirmed(topic, e) from None

    async def _write_acknowledged(
        self, topic: str, records: Sequence[Record], writer: TransactionalWriter | None
    ) -> None:
        now = int(time.time() * 1000)
        try:
            async with asyncio.timeout(self._timeout + len(records) * _SECONDS_PER_RECORD):
                written = await self._acknowledged(topic, records, writer)
        except TimeoutError as e:
            raise self._not_confirmed(topic, e) from None
        turns = LoopTurns()
        for (key, value), (partition, offset) in zip(records, written, strict=True):
            self._apply_directly(topic, [LogRecord(key, value, partition, offset, now)])
            await turns.next()

    async def _acknowledged(
        self, topic: str, records: Sequence[Record], writer: TransactionalWriter | None
    ) -> list[Written]:
        """Partition and offset of each record, when Kafka has acknowledged all, or has committed the transaction."""
        if writer is not None:
            return await writer.write(topic, records)
        written: list[Written] = []
        async with self._turns[topic]:  # no record of another call comes between those of this one
            first, sent = 0, self._send_all(topic, records[:_MAX_UNACKNOWLEDGED])
            while (first := first + _MAX_UNACKNOWLEDGED) < len(records):
                written += [await asyncio.shield(future) for future in sent]
                sent = self._send_all(topic, records[first : first + _MAX_UNACKNOWLEDGED])
        return written + [await asyncio.shield(future) for future in sent]

    def _send_all(self, topic: str, records: Sequence[Record]) -> list[asyncio.Future[Written]]:
        return [self._send(topic, key, value) for key, value in records]

    def _apply_directly(self, topic: str, records: Sequence[LogRecord]) -> None:
        """Apply records that the reader has not reached, and will read again."""
        self._logs[topic].apply(records)

    def _position(self, at: Position) -> int:
        return self._positions.get(at, 0)

    async def _reached(self, ends: Mapping[Position, int]) -> None:
        left = {at: end for at, end in ends.items() if self._position(at) < end}
        if left:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters[waiter] = left
            try:
                await waiter
            finally:
                del self._waiters[waiter]

    def _not_confirmed(self, topic: str, cause: BaseException) -> BrokerUnavailable:
        what = f"a change for topic {topic} is not confirmed, and may still be written"
        degraded = "" if self._reader is None else self._reader.degraded.get(topic, "")
        if not degraded or self.error or str(self._writer.quota):
            return self._unavailable(what, cause)
        self._suspect()  # replicas out of sync may be the first sign of brokers that no longer respond
        return BrokerUnavailable(f"{what}: {degraded}, and Kafka refuses writes below min.insync.replicas")

    def _unavailable(self, what: str, cause: BaseException) -> BrokerUnavailable:
        self._suspect()
        causes = "; ".join(filter(None, (self.error, str(self._writer.quota))))
        why = causes or str(cause) or f"no response within {self._timeout:g} seconds"
        return BrokerUnavailable(f"{what}: Kafka at {self._settings['bootstrap.servers']} does not respond ({why})")

    def _suspect(self) -> None:
        if self._reader is not None:
            self._reader.suspect()

    def _apply(self, read: ReadBatch) -> None:
        for topic, records in read.records.items():
            self._logs[topic].apply(records)
        self._positions.update(read.positions)
        if self._reader is not None:
            self._reader.applied()
        for waiter, left in self._waiters.items():
            if not waiter.done() and all(self._position(at) >= end for at, end in left.items()):
                waiter.set_result(None)

    def _on_loaded(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        if not self._loaded.done():
            self._loaded.set_result(None)

    def _on_failed(self, error: Exception) -> None:
        self._broker = str(error)
        if not self._loaded.done():
            self._loaded.set_exception(error)
        if isinstance(error, KafkaProblem):
            self._failed = error
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_exception(error)


class TopicLog:
    """One storage topic. Event loop only."""

    def __init__(self, logs: TopicLogs, spec: TopicSpec, apply: Apply) -> None:
        self._logs, self.spec, self._apply = logs, spec, apply

    async def write_all(self, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        """Write records in this order and wait until they are applied. BrokerUnavailable after 30 seconds; they may
        still be written. With a writer: in one of its transactions, and with the errors of its write()."""
        await self._logs._write(self.spec.topic, records, writer)

    async def write_acknowledged(self, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        """As write_all(), but apply the records as soon as Kafka has acknowledged them, although records before them
        may not have been read: the reader waits for open transactions of other writers. `apply` receives the records a
        second time later, and must ignore older records of a key."""
        await self._logs._write_acknowledged(self.spec.topic, records, writer)

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        """Write a record without waiting. The result (partition, offset) may be ignored; failures are logged."""
        return self._logs._send(self.spec.topic, key, value)

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        """Wait until all records written before this call are applied. BrokerUnavailable if Kafka does not respond,
        StorageTopicError if the topic was deleted.

        Records in and behind open transactions are applied when the transactions have ended. With `awaited` the call
        waits for open transactions that contain such records (TransactionOpen after MAX_WAIT seconds), and applies
        committed records behind other open transactions at once. `apply` receives these a second time later."""
        await self._logs._read_to_end(self.spec.topic, awaited)

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Pass records to the topic's owner; an exception is logged."""
        try:
            self._apply(records)
        except Exception:  # one topic must not stop the reading of others
            _log.exception("Records of topic %s could not be applied", self.spec.topic)


def _resolve(future: asyncio.Future[Written], error: KafkaProblem | None, partition: int, offset: int) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result((partition, offset))
