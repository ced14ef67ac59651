"""The ids of a task's topics, and the names of a cluster's topics, fetched once for all sinks of a slot with the same
brokers and user."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.model.task_errors import TaskLostError
from runtime.pipeline.topic_ids import Ask, identity

if TYPE_CHECKING:
    from confluent_kafka import Consumer

# The ids of the topics of a task.
#
# A topic that was deleted and created again has another id, and its offsets mean other records: an offset of the
# deleted topic, committed for the new one, would skip as many of its records. Kafka removes the committed offsets of a
# deleted topic, but a task that has not noticed its deletion may commit one later: each commit notes the id.

_NOTE = "headrace.topic="
_NO_ID = "/AAAAAAAAAAAAAAAAAAAAAA"  # of brokers before 2.8


class TopicIds:
    """The ids that the topics had when their partitions were assigned."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._ids: dict[str, str] = {}
        self._noted: set[str] = set()  # topics whose ids are only those of committed offsets, maybe of another cluster

    def assigned(self, topics: Collection[str]) -> None:
        """Partitions of these topics are going to be read."""
        new = set(topics) - self._ids.keys()
        if new:
            self._ids.update(self._ask(new))

    def note(self, topic: str) -> str:
        """The metadata with which an offset in the topic is committed."""
        known = self._ids.get(topic, _NO_ID)
        return "" if known.endswith(_NO_ID) else _NOTE + known

    def is_of_deleted(self, topic: str, metadata: str) -> bool:
        """Whether an offset that was committed with this metadata means records of a deleted topic of this name. An
        offset that was copied from another cluster with its metadata does not."""
        if not metadata.startswith(_NOTE):
            return False
        noted = metadata.removeprefix(_NOTE)
        if topic not in self._ids:  # the brokers do not respond: the next check of the ids decides
            self._ids[topic] = noted
            self._noted.add(topic)
        known = self._ids[topic]
        is_comparable = topic not in self._noted and not known.endswith(_NO_ID) and _cluster(noted) == _cluster(known)
        return is_comparable and noted != known

    def keep(self, topics: Collection[str]) -> None:
        """Only partitions of these topics are left."""
        self._ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in topics}
        self._noted.intersection_update(topics)

    def changed(self, current: Mapping[str, str | None]) -> set[str]:
        """The topics that were created again, by their current ids (None: does not exist)."""
        return {topic for topic, now in current.items() if now and self._is_other(topic, now)}

    def renew(self, current: Mapping[str, str | None]) -> None:
        """The topics are read from now on as they are now."""
        self._ids.update({topic: now for topic, now in current.items() if now})

    def may_commit(self, topics: Collection[str]) -> bool:
        """Whether offsets of these topics mean the records that were read; False if this is not known now.
        TaskLostError if a topic was created again."""
        current = self._ask(topics)
        for topic in sorted(topics):
            if topic not in current:
                _log.warning("The id of topic %s is unknown; its offsets will be committed later", topic)
                return False
            if self._is_other(topic, current[topic]):
                raise TaskLostError(
                    f"topic {topic} was deleted and created again; records of the deleted topic that are not committed "
                    "yet are dropped, and the new topic is read from its start"
                )
        return True

    def _is_other(self, topic: str, now: str) -> bool:
        """Whether the topic, which has this id now, is not the one that is read."""
        known = self._ids.setdefault(topic, now)
        if topic in self._noted and _cluster(known) != _cluster(now):
            known = self._ids[topic] = now
        self._noted.discard(topic)
        return known != now


def _cluster(topic_id: str) -> str:
    return topic_id.partition("/")[0]


def without_note(metadata: str | None) -> str:
    """The metadata of a committed offset that the task has chosen."""
    return "" if metadata is None or metadata.startswith(_NOTE) else metadata


_log = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds; limits how long a stopping task waits if the cluster does not respond
_AFTER_FAILURE = 1.0  # seconds until the next request


@dataclass(slots=True)
class _List:
    names: frozenset[str] | None = None
    asked: float = float("-inf")
    failed: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)


class TopicLists:
    """Thread-safe. On a large cluster a response takes megabytes, so a hundred sinks must share one request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lists: dict[str, _List] = {}

    def names(self, consumer: Consumer, settings: Mapping[str, Any], age: float) -> frozenset[str] | None:
        """The names of all topics, at most `age` seconds old; None if the cluster does not respond. Returns the same
        object until the next request."""
        oldest = self._clock() - age
        topic_list = self._list(settings)
        if topic_list.asked >= oldest:
            return topic_list.names
        with topic_list.lock:  # other sinks wait for this request
            if topic_list.asked >= oldest:
                return topic_list.names
            if self._clock() - topic_list.failed < _AFTER_FAILURE:
                return None
            return self._ask(topic_list, consumer)

    def _list(self, settings: Mapping[str, Any]) -> _List:
        with self._lock:
            return self._lists.setdefault(identity(settings)[0], _List())

    def _ask(self, topic_list: _List, consumer: Consumer) -> frozenset[str] | None:
        from confluent_kafka import KafkaException

        asked = self._clock()
        try:
            names = frozenset(consumer.list_topics(timeout=_TIMEOUT).topics)
        except KafkaException as error:
            _log.warning("Topics could not be listed, retrying: %s", error.args[0].str())
            topic_list.failed = self._clock()
            return None
        topic_list.names, topic_list.asked = names, asked
        return names


slot_topics = TopicLists()
