"""The names of a cluster's topics, fetched once for all sinks of a slot with the same brokers and user."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_log = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds; limits how long a stopping task waits if the cluster does not answer
_AFTER_FAILURE = 1.0  # seconds until the next request
_IDENTITY = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl.")  # settings that identify user and cluster


@dataclass(slots=True)
class _List:
    names: frozenset[str] | None = None
    asked: float = float("-inf")
    failed: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)


class TopicLists:
    """Thread-safe. On a large cluster an answer takes megabytes, so a hundred sinks must share one request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lists: dict[str, _List] = {}

    def names(self, consumer: Consumer, settings: Mapping[str, Any], age: float) -> frozenset[str] | None:
        """The names of all topics, at most `age` seconds old; None if the cluster does not answer. Returns the same
        object until the next request."""
        oldest = self._clock() - age
        found = self._list(settings)
        if found.asked >= oldest:
            return found.names
        with found.lock:  # other sinks wait for this request
            if found.asked >= oldest:
                return found.names
            if self._clock() - found.failed < _AFTER_FAILURE:
                return None
            return self._ask(found, consumer)

    def _list(self, settings: Mapping[str, Any]) -> _List:
        with self._lock:
            return self._lists.setdefault(identity(settings)[0], _List())

    def _ask(self, found: _List, consumer: Consumer) -> frozenset[str] | None:
        from confluent_kafka import KafkaException

        asked = self._clock()
        try:
            names = frozenset(consumer.list_topics(timeout=_TIMEOUT).topics)
        except KafkaException as error:
            _log.warning("Topics could not be listed, retrying: %s", error.args[0].str())
            found.failed = self._clock()
            return None
        found.names, found.asked = names, asked
        return names


def identity(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The settings of a client that identify cluster and user, as text and as such."""
    found = {name: value for name, value in settings.items() if name.startswith(_IDENTITY)}
    return json.dumps(found, sort_keys=True, default=str), found


slot_topics = TopicLists()
