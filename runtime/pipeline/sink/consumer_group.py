"""The group of a sink task's consumer, for Java connectors that reach for Connect's own consumer: some commit their
offsets in transactions of their own, which takes the group's metadata."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.api.task import OffsetAndMetadata
from runtime.kafka.clients import open_clients
from runtime.pipeline.sink.assigned_topics import without_note

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_TIMEOUT = 60.0  # seconds, Java's default.api.timeout.ms
_FORMAT = b"CGMDv2:"  # librdkafka's, of rd_kafka_consumer_group_metadata_write()
_GENERATION = struct.Struct("=i")


class GroupMetadata(NamedTuple):
    """A member of a group: with it, brokers refuse the transactions of a member that has lost its partitions."""

    group: str
    generation: int
    member: str
    instance: str | None


class ConsumerGroup:
    """The group of a task's consumer, on any thread.

    confluent-kafka lets a call of one thread wait while another thread is in a call of the same consumer. The task's
    thread is in one nearly always: it polls, and it calls open() and close() from there. It therefore reads the
    membership itself, and committed offsets are read by another client."""

    def __init__(
        self, consumer: Consumer, settings: Mapping[str, Any], position: Callable[[TopicPartition], int]
    ) -> None:
        self._consumer, self._settings = consumer, settings
        self.position = position
        self._is_asked = False
        self.update()

    def update(self) -> None:
        """Read the current membership. On the task's thread."""
        self._metadata = bytes(self._consumer.consumer_group_metadata())

    def follow(self) -> None:
        """As update(), once metadata() has been called. With the protocol of KIP-848 the epoch of a member changes
        without a rebalance."""
        if self._is_asked:
            self.update()

    def metadata(self) -> GroupMetadata:
        """The membership of the last update. ConnectError if the client has another format than expected."""
        self._is_asked = True
        return read_metadata(self._metadata)

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets, without partitions that have none. ConnectError if the broker refuses the request."""
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as KafkaPartition

        settings = {**self._settings, "enable.auto.commit": False, "log_level": 2}
        try:
            with open_clients.consumer(settings) as client:
                committed = client.committed([KafkaPartition(*tp) for tp in partitions], _TIMEOUT)
        except KafkaException as error:
            raise ConnectError(f"The committed offsets could not be read: {error.args[0].str()}") from error
        return {
            TopicPartition(p.topic, p.partition): OffsetAndMetadata(p.offset, without_note(p.metadata))
            for p in committed
            if p.offset >= 0
        }


def read_metadata(data: bytes) -> GroupMetadata:
    """The metadata in librdkafka's serialized form. ConnectError for another form."""
    if not data.startswith(_FORMAT):
        raise ConnectError(f"The Kafka client has another format of group metadata: {data[:16]!r}")
    (generation,) = _GENERATION.unpack_from(data, len(_FORMAT))
    group, member, rest = data[len(_FORMAT) + _GENERATION.size :].split(b"\0", 2)
    instance = None if rest[:1] == b"\1" else rest[1:].rstrip(b"\0").decode()
    return GroupMetadata(group.decode(), generation, member.decode(), instance)
