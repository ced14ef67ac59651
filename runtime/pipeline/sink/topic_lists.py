"""The names of a cluster's topics, fetched once for all sinks of a slot with the same brokers and user."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.pipeline.topic_ids import identity

if TYPE_CHECKING:
    from confluent_kafka import Consumer

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
