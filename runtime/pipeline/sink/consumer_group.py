"""The group of a sink task's consumer, for Java connectors that reach for Connect's own consumer: some commit their
offsets in transactions of their own, which takes the group's metadata."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.api.task import OffsetAndMetadata

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
    """The group of a consumer. On any thread."""

    def __init__(self, consumer: Consumer, position: Callable[[TopicPartition], int]) -> None:
        self._consumer = consumer
        self.position = position

    def metadata(self) -> GroupMetadata:
        """The current membership. ConnectError if the client has another format than expected."""
        return read_metadata(bytes(self._consumer.consumer_group_metadata()))

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets, without partitions that have none. ConnectError if the broker refuses the request."""
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as KafkaPartition

        try:
            committed = self._consumer.committed([KafkaPartition(*tp) for tp in partitions], _TIMEOUT)
        except KafkaException as error:
            raise ConnectError(f"The committed offsets could not be read: {error.args[0].str()}") from error
        return {
            TopicPartition(p.topic, p.partition): OffsetAndMetadata(p.offset, p.metadata or "")
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
