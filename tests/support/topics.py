"""Readers and writers of whole topics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.broker import unique
from tests.support.topic_ends import TopicEnds


def values(bootstrap: str, topic: str, count: int, timeout: float = 60.0) -> list[bytes | None]:
    """The first `count` values of a topic, by partition and order of arrival; fewer after the time limit."""
    found: list[bytes | None] = []
    for message in _messages(bootstrap, topic, timeout):
        found.append(message)
        if len(found) == count:
            break
    return found


def _messages(bootstrap: str, topic: str, timeout: float) -> Iterator[bytes | None]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": unique("reader"), "enable.auto.commit": False, "log_level": 0,
         "auto.offset.reset": "earliest", "queued.min.messages": 1_000_000, "fetch.wait.max.ms": 50}
    )  # fmt: skip
    deadline = time.monotonic() + timeout
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        while time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.2):
                if message.error() is None:
                    yield message.value()
    finally:
        consumer.close()


def pairs(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of all records of a topic, in order for each partition."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("reader"), "log_level": 0})
    found = []
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        for at in [TopicPartition(topic, p, 0) for p in partitions]:
            end = _end(consumer, at)
            consumer.assign([at])
            while consumer.position([at])[0].offset < end and end > 0:
                found += [(m.key(), m.value()) for m in consumer.consume(10_000, 0.2) if m.error() is None]
    finally:
        consumer.close()
    return found


def contents(bootstrap: str, topics: Sequence[str]) -> dict[str, list[str]]:
    """The values of several topics as text, in order for each partition."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("reader"), "log_level": 0})
    found: dict[str, list[str]] = {topic: [] for topic in topics}
    try:
        known = consumer.list_topics(timeout=10).topics
        starts = [TopicPartition(topic, p, 0) for topic in topics for p in known[topic].partitions]
        wanted = sum(_end(consumer, at) for at in starts)
        consumer.assign(starts)
        deadline = time.monotonic() + 60
        while sum(map(len, found.values())) < wanted and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.2):
                if message.error() is None:
                    found[message.topic() or ""].append((message.value() or b"").decode())
    finally:
        consumer.close()
    return found


def count(bootstrap: str, topic: str) -> int:
    """The number of records of a topic: the sum of its end offsets (no test topic is compacted or deleted)."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("counter"), "log_level": 0})
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return sum(_end(consumer, TopicPartition(topic, p)) for p in partitions)
    finally:
        consumer.close()


def _end(consumer: Any, partition: Any) -> int:
    """The end offset of a partition. The leader of a new partition may still be starting on the broker."""
    from confluent_kafka import KafkaException

    for _ in range(50):
        try:
            return int(consumer.get_watermark_offsets(partition, 10, cached=False)[1])
        except KafkaException as error:
            if error.args[0].name() not in ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE"):
                raise
            time.sleep(0.2)
    raise TimeoutError(f"{partition} has no leader")


def committed_end(bootstrap: str, topic: str) -> int:
    """The offset up to which consumers with `read_committed` read a topic of one partition (last stable offset)."""
    return TopicEnds(bootstrap, topic).committed()


def placed(bootstrap: str, topic: str) -> list[tuple[int | None, bytes | None]]:
    """Partition and key of all records of a topic."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("reader"), "log_level": 0})
    found: list[tuple[int | None, bytes | None]] = []
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        starts = [TopicPartition(topic, p, 0) for p in partitions]
        wanted = sum(_end(consumer, at) for at in starts)
        consumer.assign(starts)
        deadline = time.monotonic() + 60
        while len(found) < wanted and time.monotonic() < deadline:
            found += [(m.partition(), m.key()) for m in consumer.consume(10_000, 0.2) if m.error() is None]
    finally:
        consumer.close()
    return found


def produce(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    """Writes records without keys; returns when they are acknowledged."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0
