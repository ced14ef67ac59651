"""Fetches the tails of partitions: headers of batches with kafka-python, and their records with librdkafka.

librdkafka does not show which transaction a record belongs to, and kafka-python decompresses only gzip without further
packages. Importing kafka-python takes 0.3 seconds and the calls block: from threads only. Uses a few names that are not
public API, so kafka-python is pinned."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.kafka_python import open_admin
from runtime.kafka.denials import is_denial, not_authorized
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.open_tail import BatchHeader, Marker
from runtime.kafka.log.reader import LogRecord, Position

_TIMEOUT = 15.0  # seconds
_RETRY_DELAY = 0.1  # seconds between two attempts
_MAX_WAIT = 5  # milliseconds that a broker may wait for records; those up to the high watermark are there already
_MAX_BYTES = 1024 * 1024  # of one partition in one response
_LAST_WITH_NAMES = 12  # version of FetchRequest: later ones name topics by their ids


@dataclass(slots=True)
class FetchedTail:
    """A part of a partition's tail, ordered by offset."""

    batches: list[BatchHeader] = field(default_factory=list)
    records: list[LogRecord] = field(default_factory=list)


class TailFetcher:
    """Fetches tails. `settings` are librdkafka settings that reach the cluster."""

    def __init__(self, settings: Mapping[str, Any], timeout: float = _TIMEOUT) -> None:
        """`timeout`: seconds for a fetch with all its attempts."""
        self._settings, self._timeout = dict(settings), timeout

    def fetch(self, starts: Mapping[Position, int]) -> dict[Position, FetchedTail]:
        """Everything from these offsets to the present high watermarks, uncommitted records included. BrokerUnavailable
        if Kafka does not answer, NotAuthorizedError without the right to read a topic."""
        from kafka import errors

        deadline = time.monotonic() + self._timeout
        while True:
            try:
                headers = self._headers(starts, deadline)
                break
            except errors.TopicAuthorizationFailedError:
                topics = ", ".join(sorted({topic for topic, _ in starts}))
                raise not_authorized(self._settings, "READ", f"topic {topics}") from None
            except errors.KafkaError as e:
                if time.monotonic() + _RETRY_DELAY >= deadline:
                    raise _unavailable(starts, str(e)) from None
            time.sleep(_RETRY_DELAY)
        tails = {at: FetchedTail(batches) for at, batches in headers.items()}
        for record_at, record in self._records(headers, deadline):
            tails[record_at].records.append(record)
        return tails

    def transactional_ids(self, producer_ids: Collection[int]) -> dict[int, str]:
        """Transactional ids by producer id; only of transactions that the principal may DESCRIBE, and none if Kafka
        does not answer."""
        from kafka import errors

        try:
            admin = self._admin(self._timeout)
            try:
                listed = admin.list_transactions(producer_id_filters=list(producer_ids))
            finally:
                admin.close()
        except errors.KafkaError:
            return {}
        return {
            transaction.producer_id: transaction.transactional_id
            for of_broker in listed.values()
            for transaction in of_broker
        }

    def _admin(self, timeout: float) -> Any:
        """A new client, which takes ten milliseconds and has no stale leaders."""
        return open_admin(self._settings, max(timeout, 0.5))

    def _headers(self, starts: Mapping[Position, int], deadline: float) -> dict[Position, list[BatchHeader]]:
        admin = self._admin(deadline - time.monotonic())
        try:
            headers: dict[Position, list[BatchHeader]] = admin._manager.run(_fetch_headers, admin, starts, deadline)
            return headers
        finally:
            admin.close()

    def _records(
        self, headers: Mapping[Position, Sequence[BatchHeader]], deadline: float
    ) -> list[tuple[Position, LogRecord]]:
        """The records of these batches, ordered by offset for each partition."""
        from confluent_kafka import KafkaException, TopicPartition

        data = {at: [b for b in batches if b.marker is None] for at, batches in headers.items()}
        last = {at: batches[-1].last for at, batches in data.items() if batches}
        if not last:
            return []
        try:
            with open_clients.consumer({"group.id": "headrace-storage", **self._settings, **_CONSUMER}) as consumer:
                consumer.list_topics(next(iter(last))[0], timeout=max(deadline - time.monotonic(), 0.5))
                consumer.assign([TopicPartition(*at, data[at][0].first) for at in last])
                return self._consume(consumer, last, deadline)
        except KafkaException as e:
            raise _unavailable(last, e.args[0].str()) from None

    def _consume(
        self, consumer: Any, last: Mapping[Position, int], deadline: float
    ) -> list[tuple[Position, LogRecord]]:
        records, left = [], set(last)
        while left:
            for message in consumer.consume(500, 0.1):
                at, offset, error = (message.topic(), message.partition()), message.offset(), message.error()
                if error is None:
                    if offset <= last[at]:
                        timestamp = message.timestamp()[1]
                        records.append((at, LogRecord(message.key(), message.value(), at[1], offset, timestamp)))
                elif error.name() != "_PARTITION_EOF":
                    if is_denial(error) and error.name() != "GROUP_AUTHORIZATION_FAILED":  # the group is not used
                        raise not_authorized(self._settings, "READ", f"topic {at[0]}")
                    continue
                if offset >= last[at]:
                    left.discard(at)
            if left and time.monotonic() >= deadline:
                raise _unavailable(left, "no response in time")
        return records


async def _fetch_headers(
    admin: Any, starts: Mapping[Position, int], deadline: float
) -> dict[Position, list[BatchHeader]]:
    from kafka import TopicPartition, errors

    headers: dict[Position, list[BatchHeader]] = {at: [] for at in starts}
    ends: dict[Position, int] = {}
    leaders = await admin._async_get_leader_for_partitions([TopicPartition(*at) for at in starts])
    for leader, partitions in leaders.items():
        left = {(at.topic, at.partition): starts[at.topic, at.partition] for at in partitions}
        while left:
            response = await admin._manager.send(_request(left), node_id=leader)
            _raise_refused(response.error_code)
            for topic in response.responses:
                for part in topic.partitions:
                    _raise_refused(part.error_code)
                    at = topic.topic, part.partition_index
                    ends.setdefault(at, part.high_watermark)
                    if batches := _batches(part.records):
                        headers[at] += batches
                        left[at] = batches[-1].last + 1
            left = {at: offset for at, offset in left.items() if offset < ends.get(at, offset + 1)}
            if left and time.monotonic() >= deadline:
                raise errors.KafkaTimeoutError("the records were not fetched in time")
    return headers


def _request(starts: Mapping[Position, int]) -> Any:
    """A fetch without a session, with isolation level read_uncommitted."""
    from kafka.protocol.consumer.fetch import FetchRequest

    topic, partition = FetchRequest.FetchTopic, FetchRequest.FetchTopic.FetchPartition
    by_topic: dict[str, list[Any]] = {}
    for (name, number), offset in starts.items():
        asked = partition(partition=number, fetch_offset=offset, partition_max_bytes=_MAX_BYTES)
        by_topic.setdefault(name, []).append(asked)
    return FetchRequest(
        max_wait_ms=_MAX_WAIT,
        min_bytes=1,
        isolation_level=0,
        topics=[topic(topic=name, partitions=partitions) for name, partitions in by_topic.items()],
        max_version=_LAST_WITH_NAMES,
    )


def _raise_refused(code: int) -> None:
    from kafka import errors

    error = errors.for_code(code)
    if error is not errors.NoError:
        raise error()


def _batches(records: bytes | None) -> list[BatchHeader]:
    """The headers of complete batches. Brokers keep batches of transactions in the present format (magic 2)."""
    from kafka.record.memory_records import MemoryRecords

    return [_header(batch) for batch in MemoryRecords(records or b"")]


def _header(batch: Any) -> BatchHeader:
    marker = None
    if batch.is_control_batch:
        marker = Marker.COMMIT if next(iter(batch)).commit else Marker.ABORT
    return BatchHeader(batch.base_offset, batch.last_offset, batch.producer_id, batch.is_transactional, marker)


def _unavailable(partitions: Collection[Position], why: str) -> BrokerUnavailable:
    topics = ", ".join(sorted({topic for topic, _ in partitions}))
    return BrokerUnavailable(f"records behind an open transaction could not be read from topic {topics}: {why}")


_CONSUMER: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_uncommitted",
    "fetch.wait.max.ms": 10,
    "log_level": 2,
}
