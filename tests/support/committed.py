"""Records of topics that are written in transactions."""

from __future__ import annotations

from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError, TopicPartition

from runtime.model.task_spec import SourceOffset, TaskSpec
from tests.support.broker import KafkaBroker, unique


def committed(broker: KafkaBroker, topic: str, isolation: str = "read_committed") -> list[Any]:
    """The messages of all partitions that a consumer with this isolation level can read now."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": unique("reader"),
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "log_level": 0,
    }
    reader = Consumer(settings)
    found: list[Any] = []
    try:
        left = set(reader.list_topics(topic, timeout=10).topics[topic].partitions)
        reader.assign([TopicPartition(topic, p, 0) for p in left])
        while left:
            for message in reader.consume(10_000, 0.2):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    raise AssertionError(error)
    finally:
        reader.close()
    return found


def values(broker: KafkaBroker, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
    """The values of committed(), in order."""
    return [message.value() for message in committed(broker, topic, isolation)]


def committed_offsets(broker: KafkaBroker, spec: TaskSpec) -> list[SourceOffset]:
    """The committed source offsets of the spec's connector."""
    newest = {message.key(): message.value() for message in committed(broker, spec.offsets_topic)}
    return [
        SourceOffset(orjson.loads(key)[1], orjson.loads(value), key.decode())
        for key, value in newest.items()
        if value is not None and orjson.loads(key)[0] == spec.connector
    ]
