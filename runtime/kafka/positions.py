"""First, last and timestamped offsets of partitions, and timestamps of records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.kafka_python import TopicPartition
from runtime.kafka.clients.listed_offsets import list_offsets, listed_offset, offset_spec
from runtime.kafka.clients.open_clients import KeptAdmin
from runtime.kafka.denials import is_denial, not_authorized
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem

_TIMEOUT = 15.0  # seconds for a request
_READ_TIMEOUT = 5.0  # seconds for reading one record of each partition, with the connection to each leader

Offsets = dict[TopicPartition, int]


class Positions:
    """Requests about many partitions at once. Every call raises BrokerUnavailable if Kafka does not respond; partitions
    that do not exist are omitted. `settings` are librdkafka settings that reach the cluster."""

    def __init__(self, settings: Mapping[str, Any], timeout: float = _TIMEOUT) -> None:
        """`timeout`: seconds for a request."""
        self._settings, self._timeout = {**settings, "log_level": 2}, timeout
        self._admin = KeptAdmin(settings)

    async def partitions(self) -> dict[str, list[int]]:
        """Partition numbers by topic, of all topics."""
        return await asyncio.to_thread(self._partitions)

    async def beginnings(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The offset of the first record that has not been deleted."""
        return await self._list(dict.fromkeys(partitions, offset_spec("earliest")))

    async def ends(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The offset of the next record to be written."""
        return await self._list(dict.fromkeys(partitions, offset_spec("latest")))

    async def at_time(self, partitions: Collection[TopicPartition], milliseconds: int) -> Offsets:
        """The offset of the first record with this timestamp or a later one; the end if there is none."""
        spec = offset_spec("for_timestamp", milliseconds)
        listed, ends = await asyncio.gather(self._list(dict.fromkeys(partitions, spec)), self.ends(partitions))
        return {at: end if listed.get(at, -1) < 0 else listed[at] for at, end in ends.items()}

    async def next_records(
        self, offsets: Mapping[TopicPartition, int], isolation: str
    ) -> dict[TopicPartition, int | None]:
        """Timestamps, in milliseconds since 1970, of the first record at or after each offset that a consumer with
        this `isolation.level` can read; None if it can read none, since only markers of transactions and records that
        it must not read follow. Partitions that do not respond in time are omitted."""
        return await asyncio.to_thread(self._next_records, offsets, isolation) if offsets else {}

    async def offsets_retention(self) -> int | None:
        """Milliseconds for which brokers keep the offsets of an empty group; None if unknown."""
        return await asyncio.to_thread(self._offsets_retention)

    def _offsets_retention(self) -> int | None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin._config import ConfigResource

        try:
            with self._admin.use() as admin:
                broker = next(iter(admin.list_topics(timeout=self._timeout).brokers))
                asked = ConfigResource(ConfigResource.Type.BROKER, str(broker))
                (response,) = admin.describe_configs([asked], request_timeout=self._timeout).values()
                minutes = response.result()["offsets.retention.minutes"].value
        except (KafkaException, KeyError, StopIteration):  # no response, or no right to read it
            return None
        return int(minutes) * 60_000 if minutes else None

    async def _list(self, wanted: Mapping[TopicPartition, Any]) -> Offsets:
        return await asyncio.to_thread(self._list_blocking, wanted) if wanted else {}

    def _list_blocking(self, wanted: Mapping[TopicPartition, Any]) -> Offsets:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka import TopicPartition as At

        asked = {At(topic, number): spec for (topic, number), spec in wanted.items()}
        positions = {}
        with self._admin.use() as admin:
            try:
                listed = list_offsets(admin, asked, self._timeout)
            except KafkaException as e:
                raise BrokerUnavailable(f"Kafka did not respond: {e.args[0].str()}") from None
            for at, future in listed.items():
                try:
                    positions[at.topic, at.partition] = listed_offset(future.result())
                except KafkaException as e:
                    if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        self._admin.renew()  # the client may not learn of a new leader
                        raise self._problem(at, e.args[0]) from None
        return positions

    def _problem(self, at: Any, error: Any) -> KafkaProblem:
        if is_denial(error):
            return not_authorized(self._settings, "DESCRIBE", f"topic {at.topic}")
        return BrokerUnavailable(f"offsets of {at.topic}-{at.partition}: {error.str()}")

    def _partitions(self) -> dict[str, list[int]]:
        from confluent_kafka import KafkaException

        try:
            with self._admin.use() as admin:
                topics = admin.list_topics(timeout=self._timeout).topics
        except KafkaException as e:
            raise BrokerUnavailable(f"Kafka did not respond: {e.args[0].str()}") from None
        return {name: sorted(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def _next_records(self, offsets: Mapping[TopicPartition, int], isolation: str) -> dict[TopicPartition, int | None]:
        from confluent_kafka import KafkaException

        settings = {**self._settings, **_READER_SETTINGS, "isolation.level": isolation}
        try:
            with open_clients.consumer(settings) as consumer:
                return self._first_records(consumer, offsets)
        except KafkaException as e:
            raise BrokerUnavailable(f"Kafka did not respond: {e.args[0].str()}") from None

    def _first_records(self, consumer: Any, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        from confluent_kafka import KafkaError
        from confluent_kafka import TopicPartition as At

        timestamps: dict[TopicPartition, int | None] = {}
        timeout = min(_READ_TIMEOUT, self._timeout)
        deadline = time.monotonic() + timeout
        consumer.list_topics(next(iter(offsets))[0], timeout=timeout)  # finds all leaders
        consumer.assign([At(topic, number, offset) for (topic, number), offset in offsets.items()])
        while len(timestamps) < len(offsets) and time.monotonic() < deadline:
            for message in consumer.consume(100, 0.05):
                at = str(message.topic()), int(message.partition() or 0)
                error = message.error()
                ended = error is not None and error.code() == KafkaError._PARTITION_EOF
                if at not in timestamps and (error is None or ended):
                    timestamps[at] = None if ended else message.timestamp()[1]
                    consumer.incremental_unassign([At(*at)])
        return timestamps


_READER_SETTINGS = {
    "group.id": "headrace-peek",  # required by the client; never joined, nothing is committed
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 10,  # the default, one second, also delays reading past markers of transactions
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1_024,
    "fetch.message.max.bytes": 16_384,
}


def partitions_of(partitions: Mapping[str, Iterable[int]], topics: Iterable[str]) -> set[TopicPartition]:
    """The partitions of these topics; topics that do not exist are omitted."""
    return {(topic, number) for topic in topics for number in partitions.get(topic, ())}
