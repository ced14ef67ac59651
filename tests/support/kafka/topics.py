"""Readers of whole topics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.support.broker import unique
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.waiting import allowed


def messages(bootstrap: str, *topics: str, isolation: str = "read_committed") -> list[Any]:
    """All messages that a consumer with this isolation level can read now, in order for each partition.

    A topic that is being written has no end: messages up to its end at the start suffice.
    """
    from confluent_kafka import KafkaError, TopicPartition

    found: list[Any] = []
    with _consumer(bootstrap, **{"isolation.level": isolation, "enable.partition.eof": True}) as consumer:
        starts = [TopicPartition(topic, p, 0) for topic in topics for p in _partitions(consumer, topic)]
        last = {(at.topic, at.partition): _end(consumer, at) - 1 for at in starts}
        consumer.assign(starts)
        deadline = time.monotonic() + 60
        while last:
            assert time.monotonic() < deadline, f"{topics} could not be read to their ends"
            for message in consumer.consume(10_000, 0.02):
                partition = (message.topic(), message.partition())
                if (error := message.error()) is None:
                    found.append(message)
                    if message.offset() >= last.get(partition, 0):
                        last.pop(partition, None)
                elif error.code() == KafkaError._PARTITION_EOF:
                    last.pop(partition, None)
    return found


def pairs(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of all records of a topic, in order for each partition, one partition after another."""
    found = sorted(messages(bootstrap, topic), key=lambda message: int(message.partition()))
    return [(message.key(), message.value()) for message in found]


def contents(bootstrap: str, topics: Sequence[str]) -> dict[str, list[str]]:
    """The values of several topics as text, in order for each partition."""
    found: dict[str, list[str]] = {topic: [] for topic in topics}
    for message in messages(bootstrap, *topics):
        found[message.topic()].append((message.value() or b"").decode())
    return found


def placed(bootstrap: str, topic: str) -> list[tuple[int | None, bytes | None]]:
    """Partition and key of all records of a topic."""
    return [(message.partition(), message.key()) for message in messages(bootstrap, topic)]


def values(bootstrap: str, topic: str, count: int, timeout: float = 60.0) -> list[bytes | None]:
    """The first `count` values of a topic, by partition and order of arrival; fewer after the time limit."""
    from confluent_kafka import TopicPartition

    found: list[bytes | None] = []
    deadline = time.monotonic() + timeout
    with _consumer(bootstrap, **{"queued.min.messages": 1_000_000}) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in _partitions(consumer, topic)])
        while len(found) < count and time.monotonic() < deadline:
            found += [m.value() for m in consumer.consume(min(10_000, count - len(found)), 0.2) if m.error() is None]
    return found


def count(bootstrap: str, topic: str) -> int:
    """The number of records of a topic: the sum of its end offsets (no test topic is compacted or deleted)."""
    from confluent_kafka import TopicPartition

    with _consumer(bootstrap) as consumer:
        return sum(_end(consumer, TopicPartition(topic, p)) for p in _partitions(consumer, topic))


@contextmanager
def _consumer(bootstrap: str, **settings: Any) -> Iterator[Any]:
    """A consumer outside of any group. Fetches return soon, so that the end of a partition is reported soon."""
    from confluent_kafka import Consumer

    quick = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 10, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": unique("reader"), **quick, **settings})
    try:
        yield consumer
    finally:
        consumer.close()


def _partitions(consumer: Any, topic: str) -> list[int]:
    return list(consumer.list_topics(topic, timeout=allowed(10)).topics[topic].partitions)


def _end(consumer: Any, partition: Any) -> int:
    """The end offset of a partition. After a restart of the broker, a partition has no leader for a moment."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + 60
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, 10, cached=False)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def committed_end(bootstrap: str, topic: str) -> int:
    """The offset up to which consumers with `read_committed` read a topic of one partition (last stable offset)."""
    return TopicEnds(bootstrap, topic).committed()
