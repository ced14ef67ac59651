"""Topics and groups as the scenarios use them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from tests.support.waiting import allowed, poll

Headers = list[tuple[str, bytes]]
Produced = str | None | tuple[str | None, str | None] | tuple[str | None, str | None, Headers]
"""A value, or a key with its value and headers."""


class Kafka:
    """A client of one broker for one scenario. `prefix`: of the names of its topics, and of its reader's group."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._prefix = prefix
        self.admin = AdminClient(self._settings)
        self._producer: Producer | None = None

    def create_topic(self, name: str, partitions: int) -> None:
        for future in self.admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(allowed(30))
        poll(lambda: self.partitions(name), lambda known: len(known) == partitions, 10)

    def partitions(self, topic: str) -> list[int]:
        """Empty while the topic or its partitions are not known."""
        metadata = self.admin.list_topics(topic, timeout=allowed(10)).topics[topic]
        return [] if metadata.error is not None else sorted(metadata.partitions)

    def cleanup_policy(self, topic: str) -> Any:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        return self.admin.describe_configs([resource])[resource].result(allowed(10))["cleanup.policy"].value

    def produce(self, topic: str, messages: Iterable[Produced], partition: int | None = None) -> None:
        if self._producer is None:
            self._producer = Producer({**self._settings, "linger.ms": 0})
        where = {} if partition is None else {"partition": partition}
        for message in messages:
            key, value, *more = message if isinstance(message, tuple) else (None, message)
            headers = {"headers": more[0]} if more else {}
            self._producer.produce(topic, key=key, value=value, **where, **headers)  # type: ignore[arg-type]
        self._producer.flush(30)

    def fetch(self, topic: str, count: int, timeout: float, extra: float = 0.3) -> list[Message]:
        """The messages of a topic by partition and offset; reads for `extra` seconds more after `count` of them."""
        end = time.monotonic() + allowed(timeout)
        partitions = poll(lambda: self.partitions(topic), bool, timeout)
        consumer = Consumer({
            **self._settings, "group.id": f"{self._prefix}-reader", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.wait.max.ms": 50,
        })  # fmt: skip
        found: list[Message] = []
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            end = min(end, time.monotonic() + extra) if count == 0 else end
            while time.monotonic() < end:
                message = consumer.poll(0.1)
                if message is not None and not message.error():
                    found.append(message)
                    if len(found) == count:
                        end = min(end, time.monotonic() + extra)
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def committed(self, group: str) -> Any:
        """[topic, partition, offset] of each commit of a group."""
        request = ConsumerGroupTopicPartitions(group)
        try:
            positions = self.admin.list_consumer_group_offsets([request])[group].result(allowed(15)).topic_partitions
        except KafkaException as error:
            return {"error": type(error).__name__}
        return sorted([at.topic, at.partition, at.offset] for at in positions if at.offset >= 0)

    def delete(self, groups: Sequence[str]) -> None:
        """Deletes the scenario's topics and these groups as far as possible."""
        topics = [topic for topic in self.admin.list_topics(timeout=allowed(10)).topics if self._prefix in topic]
        deletions = [*self.admin.delete_topics(topics).values()] if topics else []
        deletions += self.admin.delete_consumer_groups(list(groups)).values() if groups else []
        for deletion in deletions:
            with suppress(KafkaException):
                deletion.result(allowed(15))
