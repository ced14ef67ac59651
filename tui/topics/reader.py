"""Reads pages of records from the brokers. confluent-kafka, of the extra `runtime`, is imported by the first request.

The consumer assigns partitions itself: it never joins a group and never commits. A page is bounded in records, bytes
and time, however large the topic is. All requests block: call them in a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tui import kafka_clients
from tui.errors import NotFound, Unreachable
from tui.kafka_clients import ConnectionTrouble
from tui.offsets.brokers import Brokers
from tui.topics.page_scan import MAX_CHUNK, Chunk, Matches, PageScan, Ranges, ReadLimits
from tui.topics.records import RecordPage, TopicRecord

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

RESPONSE_TIMEOUT = 15.0  # seconds for a response from the brokers
_LOG_APPEND_TIME = 2  # confluent_kafka.TIMESTAMP_LOG_APPEND_TIME
GROUP = "headrace-console"  # required by the client, which never joins it


class TopicReader:
    """Reads topics with one consumer, opened by the first page. `settings` are librdkafka's, with `bootstrap.servers`.
    Raises Unreachable without a response, NotFound for an unknown topic, UsageError for invalid settings."""

    def __init__(self, settings: Mapping[str, Any], committed: bool = False) -> None:
        """`committed`: read only records of committed transactions."""
        servers = str(settings.get("bootstrap.servers", ""))
        self._settings, self._servers, self._committed = settings, servers, committed
        self.brokers = Brokers(servers, {key: str(value) for key, value in settings.items()}, RESPONSE_TIMEOUT)
        self._consumer: Consumer | None = None
        self._lock = threading.Lock()  # pages are read one after another
        self._trouble = ConnectionTrouble()

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                kafka_clients.close(self._consumer)
                self._consumer = None

    # Pages

    def older(
        self, topic: str, limits: ReadLimits, before: Mapping[int, int] | None = None, matches: Matches | None = None,
        partition: int | None = None,
    ) -> RecordPage:  # fmt: skip
        """The records right before the offsets `before`, by default the newest ones."""
        return self._page(topic, limits, before or {}, True, matches, partition)

    def newer(
        self, topic: str, limits: ReadLimits, start: Mapping[int, int] | None = None, matches: Matches | None = None,
        partition: int | None = None,
    ) -> RecordPage:  # fmt: skip
        """The records from the offsets `start` on, by default the oldest ones."""
        return self._page(topic, limits, start or {}, False, matches, partition)

    def at_time(self, topic: str, milliseconds: int, partition: int | None = None) -> dict[int, int]:
        """By partition, the offset of the first record at this time or later; the end if there is none."""
        with self._lock:
            numbers = self._partitions(topic, partition)
        places = [(topic, number) for number in numbers]
        offsets, ends = self.brokers.at_time(places, milliseconds), self.brokers.ends(places)
        return {at[1]: offsets.get(at, ends[at]) for at in places}

    def bounds(self, topic: str, partition: int | None = None) -> tuple[dict[int, int], dict[int, int]]:
        """The earliest and latest offset by partition."""
        with self._lock:
            return self._bounds(topic, partition)

    def _page(
        self, topic: str, limits: ReadLimits, given: Mapping[int, int], is_older: bool, matches: Matches | None,
        partition: int | None,
    ) -> RecordPage:  # fmt: skip
        from confluent_kafka import KafkaException

        with self._lock:
            earliest, latest = self._bounds(topic, partition)
            edge = latest if is_older else earliest
            start = {p: min(max(given.get(p, edge[p]), earliest[p]), latest[p]) for p in edge}
            empty = RecordPage((), start, start, earliest, latest)
            try:
                return self._filled(topic, empty, limits, is_older, matches)
            except KafkaException as error:
                raise self._unreachable(kafka_clients.in_words(error.args[0])) from None
            finally:
                if self._consumer is not None:
                    self._consumer.unassign()  # nothing is fetched between pages

    def _filled(
        self, topic: str, page: RecordPage, limits: ReadLimits, is_older: bool, matches: Matches | None
    ) -> RecordPage:
        scan = PageScan(page, limits, is_older, matches)
        while ranges := scan.next_ranges():
            scan.take(ranges, self._read(topic, ranges, scan.room, scan.deadline))
        return scan.page()

    # The consumer

    def _read(self, topic: str, ranges: Ranges, room: int, deadline: float) -> Chunk:
        """Reads the records of these ranges of offsets, up to the limits of a chunk. The deadline ends it only while
        records arrive: brokers that stop responding are an error, not the end of the records."""
        from confluent_kafka import TopicPartition

        consumer, chunk = self._open(), _GrowingChunk(ranges, room)
        consumer.assign([TopicPartition(topic, p, start) for p, (start, _) in ranges.items()])
        response_by = time.monotonic() + RESPONSE_TIMEOUT
        while chunk.unfinished and not chunk.is_full:
            messages = consumer.consume(500, timeout=0.1)
            if done := chunk.take(messages):
                consumer.incremental_unassign([TopicPartition(topic, number) for number in done])
            if messages:
                if chunk.records and time.monotonic() > deadline:
                    break
                response_by = time.monotonic() + RESPONSE_TIMEOUT
            elif time.monotonic() > response_by:
                raise self._unreachable(f"no records within {RESPONSE_TIMEOUT:g} s")
        return Chunk(chunk.records, ranges.keys() - chunk.unfinished)

    def _open(self) -> Consumer:
        if self._consumer is None:
            given: dict[str, Any] = {
                "group.id": GROUP,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "allow.auto.create.topics": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed" if self._committed else "read_uncommitted",
                "fetch.wait.max.ms": 20,
                "fetch.queue.backoff.ms": 10,  # otherwise reading stalls for a second after each full queue
                "fetch.max.bytes": 8 * 1024 * 1024,
                "queued.min.messages": 1_000,
                "queued.max.messages.kbytes": 16 * 1024,
                "error_cb": self._trouble,
            }
            self._consumer = kafka_clients.open_consumer({**self._settings, **given}, self)
        return self._consumer

    def _bounds(self, topic: str, partition: int | None) -> tuple[dict[int, int], dict[int, int]]:
        places = [(topic, number) for number in self._partitions(topic, partition)]
        beginnings, ends = self.brokers.beginnings(places), self.brokers.ends(places)
        return {at[1]: beginnings[at] for at in places}, {at[1]: ends[at] for at in places}

    def _partitions(self, topic: str, partition: int | None) -> list[int]:
        """The partitions of a topic, or only this one. Unlike the admin client, the consumer creates no topic."""
        consumer = self._open()
        from confluent_kafka import KafkaException

        try:
            metadata = consumer.list_topics(topic, timeout=RESPONSE_TIMEOUT).topics[topic]
        except KafkaException as error:
            raise self._unreachable(kafka_clients.in_words(error.args[0])) from None
        if metadata.error is not None or not metadata.partitions:
            cause = (
                "does not exist"
                if metadata.error is None or "UNKNOWN" in metadata.error.name()
                else kafka_clients.in_words(metadata.error)
            )
            raise NotFound(f"topic {topic}: {cause}", 404, "`topics` lists the topics of the brokers")
        if partition is not None and partition not in metadata.partitions:
            last = max(metadata.partitions)
            raise NotFound(f"topic {topic} has no partition {partition}: its partitions are 0 to {last}", 404)
        return sorted(metadata.partitions) if partition is None else [partition]

    def _unreachable(self, cause: str) -> Unreachable:
        return Unreachable(f"the brokers {self._servers}: {cause}{self._trouble.reason}")


class _GrowingChunk:
    """The records of some ranges while they are read."""

    def __init__(self, ranges: Ranges, room: int) -> None:
        """`room`: bytes after which the chunk is full, which has at least one record."""
        self._ranges, self._room = ranges, room
        self.unfinished = set(ranges)
        self.records: list[TopicRecord] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        return len(self.records) >= 2 * MAX_CHUNK or self._has_no_room

    @property
    def _has_no_room(self) -> bool:
        return self._size > self._room and bool(self.records)

    def take(self, messages: Iterable[Message]) -> set[int]:
        """Adds messages, as long as there is room; returns the partitions that are finished now. Raises the error of a
        message."""
        from confluent_kafka import KafkaError, KafkaException

        done = set()
        for message in messages:
            if self._has_no_room:
                break
            error, number = message.error(), message.partition() or 0
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if number not in self.unfinished:
                continue
            offset, end = message.offset() or 0, self._ranges[number][1]
            if error is None and offset < end:
                record = record_of(message)
                self.records.append(record)
                self._size += record.size
            if error is not None or offset >= end - 1:
                done.add(number)
        self.unfinished -= done
        return done


def record_of(message: Message) -> TopicRecord:
    """The record of a consumer's message."""
    headers: Any = message.headers() or ()
    kind, timestamp = message.timestamp()
    return TopicRecord(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp=max(0, timestamp),
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=tuple((str(name), _bytes(value)) for name, value in headers),
        is_append_time=kind == _LOG_APPEND_TIME,
    )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
