"""Checks the ids and the partitions of the storage topics: a topic that was deleted has lost its state, even if a topic
of the same name was created again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from runtime.kafka.denials import denial
from runtime.kafka.log.topics import TopicSpec, several_partitions

CHECK_INTERVAL = 2.0
"""Seconds between two requests."""

_RECHECK_DELAY = 0.5  # seconds until the next request after a topic was missing
_TIMEOUT = 10.0
_REFRESH_TIMEOUT = 2.0


class TopicWatch:
    """Requests the topics' ids periodically, without waiting for the response. One thread."""

    def __init__(
        self, admin: Any, settings: Mapping[str, Any], specs: Sequence[TopicSpec],
        clock: Callable[[], float] = time.monotonic, every: float = CHECK_INTERVAL,
    ) -> None:  # fmt: skip
        """`every`: seconds between two requests."""
        self._admin, self._settings, self._clock, self._every = admin, settings, clock, every
        self._specs = {spec.topic: spec for spec in specs}
        self._ids: dict[str, str] = {}
        self._missing: set[str] = set()  # in the last response
        self._pending: dict[str, Future[Any]] = {}
        self._next = 0.0
        self._is_refreshing = False
        self.lost = self.lost_topic = ""  # the reason why a topic was lost, and its name; permanent
        self.denied = ""  # the missing right, until it is granted
        self.partitions: dict[str, int] = {}  # the number of partitions of each topic
        self.degraded: dict[str, str] = {}  # by topic: the partition with the fewest replicas in sync, if some are not

    @property
    def complete(self) -> bool:
        """Whether every topic's id is known."""
        return len(self._ids) == len(self._specs)

    def check(self) -> None:
        """Process the last response, and send the next request when it is due."""
        if self._pending and all(future.done() for future in self._pending.values()):
            requests, self._pending = self._pending, {}
            self.denied = ""
            for topic, future in requests.items():
                self._process(topic, future)
        if self._is_refreshing:
            self._refresh()
        if not self._pending and not self.lost and self._clock() >= self._next:
            self._next = self._clock() + self._every
            self._pending = self._request()

    def _request(self) -> dict[str, Future[Any]]:
        from confluent_kafka import TopicCollection

        topics = TopicCollection(list(self._specs))
        requests: dict[str, Future[Any]] = self._admin.describe_topics(topics, request_timeout=_TIMEOUT)
        return requests

    def _process(self, topic: str, future: Future[Any]) -> None:
        from confluent_kafka import KafkaException

        try:
            described = future.result()
        except KafkaException as e:
            self.degraded.pop(topic, None)  # it may have changed: writes fail for want of a response
            self._refused(topic, e.args[0].name())
            return
        topic_id = str(described.topic_id)
        self._missing.discard(topic)
        self.degraded[topic] = _degraded(described.partitions)
        self.partitions[topic] = len(described.partitions)
        if self._ids.setdefault(topic, topic_id) != topic_id:
            self.lost, self.lost_topic = recreated_message(topic), topic
        elif self._specs[topic].single and self.partitions[topic] > 1:
            self.lost, self.lost_topic = several_partitions(self._specs[topic], self.partitions[topic]), topic

    def _refused(self, topic: str, name: str) -> None:
        if name in ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID"):
            if topic in self._missing:
                self.lost, self.lost_topic = _lost(topic, "was deleted"), topic
            self._missing.add(topic)  # a broker that has just started may not know all topics yet
            self._next = self._clock() + _RECHECK_DELAY
        elif name == "TOPIC_AUTHORIZATION_FAILED":
            self.denied = denial(self._settings, "DESCRIBE", f"topic {topic}")
        else:
            self._is_refreshing = True

    def _refresh(self) -> None:
        """The client sends the request to the broker that it takes for the controller, also after that broker has died,
        until it learns of another one. Blocks for a moment."""
        from confluent_kafka import KafkaException

        self._is_refreshing = False
        with suppress(KafkaException):
            self._admin.list_topics(next(iter(self._specs)), timeout=_REFRESH_TIMEOUT)


def _degraded(partitions: Sequence[Any]) -> str:
    """The partition with the fewest replicas in sync; empty if all are."""
    least = min(partitions, key=lambda partition: len(partition.isr), default=None)
    if least is None or len(least.isr) >= len(least.replicas):
        return ""
    return f"{len(least.isr)} of {len(least.replicas)} replicas of partition {least.id} are in sync"


def recreated_message(topic: str) -> str:
    """The message for a topic that was deleted and created again."""
    return _lost(topic, "was deleted and created again")


def _lost(topic: str, what: str) -> str:
    return (
        f"storage topic {topic} {what} while this worker was running: the worker's state is no longer in Kafka, and "
        "changes are refused; restore the topic if you can, then restart the worker"
    )
