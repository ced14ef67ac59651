"""Offsets of connectors as Kafka stores them: those of sinks in their consumer groups, those of sources in the offset
topic of the workers. For workers that do not return them (before KIP-875). Requests block.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui import kafka_clients
from tui.errors import HeadraceError, NotFound
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.brokers import Brokers
from tui.offsets.group_lag import group_of, read_topics

OFFSET_TOPIC = "connect-offsets"
"""The offset topic of Kafka's example configuration; workers have no default."""
TOPIC_KEY = "offsets.storage.topic"
"""The key of a source that has an offset topic of its own (KIP-618)."""
_SILENCE = 20.0  # seconds without a record before the topic counts as unreadable

Json = Any
Read = dict[str, tuple[Offset, ...] | HeadraceError]


class StoredOffsets:
    """Reads them with the brokers and the client settings of a context; `topic` is `offset.storage.topic`."""

    def __init__(self, brokers: Brokers, settings: Mapping[str, str], topic: str = OFFSET_TOPIC) -> None:
        self._brokers, self._settings, self._topic = brokers, settings, topic

    def of(self, connectors: Iterable[Connector]) -> Read:
        """The offsets or the error of each connector. Raises HeadraceError if no broker responds."""
        every = list(connectors)
        sinks = [connector for connector in every if connector.type == "sink"]
        return self._of_sinks(sinks) | self._of_sources([c for c in every if c.type != "sink"])

    def _of_sinks(self, sinks: list[Connector]) -> Read:
        committed = self._brokers.committed(read_topics(sinks))
        read: Read = {}
        for sink in sinks:
            places = committed.get(group_of(sink), {})
            read[sink.name] = places if isinstance(places, HeadraceError) else tuple(map(_sink_offset, places.items()))
        return read

    def _of_sources(self, sources: list[Connector]) -> Read:
        by_topic: dict[str, list[str]] = {}
        for source in sources:
            by_topic.setdefault(source.config.get(TOPIC_KEY) or self._topic, []).append(source.name)
        read: Read = {}
        for topic, names in by_topic.items():
            try:
                stored = self._stored(topic)
            except NotFound as error:
                read |= dict.fromkeys(names, error)
            else:
                read |= {name: tuple(stored.get(name, {}).values()) for name in names}
        return read

    def _stored(self, topic: str) -> dict[str, dict[str, Offset]]:
        """The offsets in a topic by connector and partition."""
        stored: dict[str, dict[str, Offset]] = {}
        for key, value in self._records(topic):
            if (named := _partition(key)) is None:
                continue
            offset, (name, partition) = _payload(value), named
            offsets = stored.setdefault(name, {})
            if isinstance(offset, dict):
                offsets[partitions.key(partition)] = Offset(partition, offset)
            else:
                offsets.pop(partitions.key(partition), None)
        return stored

    def _records(self, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
        """All records of a topic, those of each partition in order."""
        places = self._brokers.partitions(lambda name: name == topic)
        if not places:
            raise NotFound(
                f"the offset topic {topic} does not exist", 404, "--offset-topic names it: offset.storage.topic"
            )
        from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

        own = {"group.id": "headrace-console", "enable.auto.commit": False, "enable.partition.eof": True}
        with kafka_clients.consumer({**self._settings, **own}) as consumer:
            consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for name, number in places])
            unread, heard_at = {number for _, number in places}, time.monotonic()
            while unread:
                message = consumer.poll(1.0)
                if message is None:
                    if time.monotonic() - heard_at > _SILENCE:
                        raise HeadraceError(f"the offset topic {topic} could not be read to its end")
                    continue
                heard_at, error = time.monotonic(), message.error()
                if error is None:
                    yield message.key(), message.value()
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                elif not error.retriable():
                    raise HeadraceError(f"the offset topic {topic} could not be read: {kafka_clients.in_words(error)}")


def _sink_offset(place: tuple[tuple[str, int], int]) -> Offset:
    (topic, partition), offset = place
    return Offset({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset})


def _partition(key: bytes | None) -> tuple[str, dict[str, Json]] | None:
    """The connector and the source partition of a key, `["name", {…}]`; None for another form."""
    named = _payload(key)
    if isinstance(named, list) and len(named) == 2 and isinstance(named[0], str) and isinstance(named[1], dict):
        return named[0], named[1]
    return None


def _payload(content: bytes | None) -> Json:
    """The value of JSON, also in the envelope of workers whose internal converter has schemas; None if it is not
    JSON."""
    try:
        value = json.loads(content or b"null")
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return value["payload"]
    return value
