"""Records between another system and Kafka. Plain classes with slots, since tasks create millions of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.data.schema import Schema

Header = tuple[str, Schema | None, Any]
Headers = list[Header]
"""Record headers in their order: key, schema (or None), value."""


def stamp_of(ms: int) -> int | None:
    """The timestamp of a Kafka message; None for -1, which marks a message without one."""
    return None if ms == -1 else ms


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int


class SourceRecord:
    """A record from another system for a Kafka topic (Java: SourceRecord).

    `source_partition` and `source_offset` are its origin; the offset is the position from which a task resumes after
    this record. Records should share one partition mapping. `kafka_partition` None lets the partitioner choose,
    `timestamp` is in milliseconds since 1970 (None: the time of sending).
    """

    __slots__ = (
        "headers",
        "kafka_partition",
        "key",
        "key_schema",
        "source_offset",
        "source_partition",
        "timestamp",
        "topic",
        "value",
        "value_schema",
    )

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        topic: str,
        value: Any,
        value_schema: Schema | None = None,
        key: Any = None,
        key_schema: Schema | None = None,
        kafka_partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
    ) -> None:
        self.source_partition = source_partition
        self.source_offset = source_offset
        self.topic = topic
        self.value = value
        self.value_schema = value_schema
        self.key = key
        self.key_schema = key_schema
        self.kafka_partition = kafka_partition
        self.timestamp = timestamp
        self.headers = headers

    def copy(self) -> SourceRecord:
        """A shallow copy."""
        return SourceRecord(
            self.source_partition,
            self.source_offset,
            self.topic,
            self.value,
            self.value_schema,
            self.key,
            self.key_schema,
            self.kafka_partition,
            self.timestamp,
            self.headers,
        )


class ErrantSourceRecord(SourceRecord):
    """A part of the source system that cannot be a record, such as a damaged line of a file, at its place among the
    records that poll() returns. With `errors.tolerance=all` it is skipped, and its offset committed; otherwise it fails
    the task after the records before it.

    `raw` are its bytes, if known. With a `topic`, they are written there with the error in headers when the record is
    skipped. Neither transformations nor converters process it. An addition to Connect's API."""

    __slots__ = ("error",)

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        error: Exception,
        raw: bytes | None = None,
        topic: str = "",
    ) -> None:
        super().__init__(source_partition, source_offset, topic, raw)
        self.error = error


class SinkRecord:
    """A record from a Kafka topic for another system (Java: SinkRecord).

    Transformations may change `topic`, `kafka_partition` and `kafka_offset`; the `original_` properties are where the
    record was consumed (KIP-793). `timestamp` is in milliseconds since 1970, `timestamp_type` is 0 for CREATE_TIME and
    1 for LOG_APPEND_TIME. `source` is the Kafka client's message; None for a record created otherwise.
    """

    __slots__ = (
        "headers",
        "kafka_offset",
        "kafka_partition",
        "key",
        "key_schema",
        "source",
        "timestamp",
        "timestamp_type",
        "topic",
        "value",
        "value_schema",
    )

    def __init__(
        self,
        topic: str,
        kafka_partition: int,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        kafka_offset: int,
        timestamp: int | None = None,
        timestamp_type: int = 0,
        headers: Headers | None = None,
        source: Any = None,
    ) -> None:
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.kafka_offset = kafka_offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.headers = headers
        self.source = source

    @property
    def original_topic(self) -> str:
        """The topic from which the record was consumed."""
        return self.topic if self.source is None else self.source.topic()

    @property
    def original_kafka_partition(self) -> int:
        """The partition from which the record was consumed."""
        return self.kafka_partition if self.source is None else self.source.partition()

    @property
    def original_kafka_offset(self) -> int:
        """The offset at which the record was consumed."""
        return self.kafka_offset if self.source is None else self.source.offset()

    def copy(self) -> SinkRecord:
        """Another record with the same parts and the same origin."""
        return SinkRecord(
            self.topic,
            self.kafka_partition,
            self.key_schema,
            self.key,
            self.value_schema,
            self.value,
            self.kafka_offset,
            self.timestamp,
            self.timestamp_type,
            self.headers,
            self.source,
        )
