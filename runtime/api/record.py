"""Records on their way between another system and Kafka. Plain slots: there are millions of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.schema import Schema

Headers = list[tuple[str, "Schema | None", Any]]
"""Record headers in order: key, schema (None: without one), value."""


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int


class SourceRecord:
    """A record from another system, on its way to `topic`.

    `source_partition` and `source_offset` say where it came from: the offset is what the task would resume from
    after this record. Tasks may (and should) share one partition mapping between records.
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


class SinkRecord:
    """A record of a Kafka topic, on its way to another system."""

    __slots__ = (
        "headers",
        "kafka_offset",
        "kafka_partition",
        "key",
        "key_schema",
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
