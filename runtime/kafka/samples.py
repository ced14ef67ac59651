"""Reads the newest records of topics, without joining a group, committing offsets or creating topics."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from runtime.kafka.clients import open_clients
from runtime.kafka.denials import not_authorized
from runtime.kafka.errors import BrokerUnavailable

_TIMEOUT = 10.0  # seconds for a request
_READ_TIMEOUT = 5.0  # seconds for reading
_MAX_BYTES = 8 * 1024 * 1024  # maximum size of all samples

Sample = dict[str, Any]
"""A message as JSON: topic, partition, offset, timestamp (None without one), key, value and headers in base64."""


async def newest(settings: Mapping[str, Any], wanted: Callable[[str], bool], count: int) -> list[Sample]:
    """The `count` newest records of the requested topics, oldest first; fewer if there are fewer. `settings` are a
    consumer's. BrokerUnavailable if Kafka does not respond."""
    return await asyncio.to_thread(_newest, {**settings, **_READER_SETTINGS}, wanted, count)


def _newest(settings: dict[str, Any], wanted: Callable[[str], bool], count: int) -> list[Sample]:
    from confluent_kafka import KafkaException

    try:
        with open_clients.consumer(settings) as consumer:
            topics = consumer.list_topics(timeout=_TIMEOUT).topics
            chosen = {(name, p) for name, topic in topics.items() if wanted(name) for p in topic.partitions}
            messages = _read(consumer, settings, chosen, count)
    except KafkaException as e:
        raise BrokerUnavailable(f"Kafka did not respond: {e.args[0].str()}") from None
    messages.sort(key=lambda m: (m.timestamp()[1], m.offset()))
    return [_sample(message) for message in messages[-count:]]


def _read(consumer: Any, settings: Mapping[str, Any], partitions: Collection[tuple[str, int]], count: int) -> list[Any]:
    """The last `count` records of each partition, as far as time and memory allow."""
    from confluent_kafka import KafkaError, TopicPartition

    unread = set()
    starts = []
    for topic, number in sorted(partitions):
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_TIMEOUT)
        if high > low:
            unread.add((topic, number))
            starts.append(TopicPartition(topic, number, max(low, high - count)))
    consumer.assign(starts)
    messages: list[Any] = []
    size, deadline = 0, time.monotonic() + _READ_TIMEOUT
    while unread and size < _MAX_BYTES and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.1):
            error = message.error()
            if error is None:
                messages.append(message)
                size += len(message)
            elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:  # the group is not used
                raise not_authorized(settings, "READ", f"topic {message.topic()}")
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard((message.topic(), message.partition()))
    return messages


def _sample(message: Any) -> Sample:
    kind, timestamp = message.timestamp()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp if kind else None,
        "key": as_text(message.key()),
        "value": as_text(message.value()),
        "headers": [[name, as_text(data)] for name, data in message.headers() or ()],
    }


def as_text(data: bytes | None) -> str | None:
    """Bytes in base64."""
    return None if data is None else base64.b64encode(data).decode()


_READER_SETTINGS = {
    "group.id": "headrace-preview",  # required by the client; never joined, nothing is committed
    "client.id": "headrace-preview",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 10,
    "queued.max.messages.kbytes": 16_384,
    "log_level": 2,
}
