"""The names and ids of a cluster's topics, fetched once for all sinks of a slot with the same brokers and user."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.kafka.clients.open_clients import KeptAdmin
from runtime.model.task_errors import TaskLostError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError

# The ids of the topics of a task.
#
# A topic that was deleted and created again has another id, and its offsets mean other records: an offset of the
# deleted topic, committed for the new one, would skip as many of its records. Kafka removes the committed offsets of a
# deleted topic, so that it suffices to commit none of them later.
Ask = Callable[[Collection[str]], Mapping[str, str]]
"""Returns the ids of those topics that exist and are known; empty if the cluster does not respond."""


class TopicIds:
    """The ids that the topics had when their partitions were assigned."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._ids: dict[str, str] = {}

    def assigned(self, topics: Collection[str]) -> None:
        """Partitions of these topics are going to be read."""
        new = set(topics) - self._ids.keys()
        if new:
            self._ids.update(self._ask(new))

    def keep(self, topics: Collection[str]) -> None:
        """Only partitions of these topics are left."""
        self._ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in topics}

    def changed(self, current: Mapping[str, str | None]) -> set[str]:
        """The topics that were created again, by their current ids (None: does not exist)."""
        known = self._ids
        return {topic for topic, now in current.items() if now and known.setdefault(topic, now) != now}

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
            if self._ids.setdefault(topic, current[topic]) != current[topic]:
                raise TaskLostError(
                    f"topic {topic} was deleted and created again; records of the deleted topic that are not committed "
                    "yet are dropped, and the new topic is read from its start"
                )
        return True


class TopicIdRequests:
    """Requests to the brokers, with one client for all tasks of a slot with the same brokers and user. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, KeptAdmin] = {}

    def asker(self, settings: Mapping[str, Any], patient: bool) -> Ask:
        """A function that requests ids with the settings of a client. `patient`: the task cannot work without them."""
        timeout = _TIMEOUT if patient else _SHORT_TIMEOUT
        return lambda topics: self._request(settings, topics, timeout)

    def ids(self, settings: Mapping[str, Any], topics: Collection[str]) -> dict[str, str | None] | None:
        """The ids of those of the topics that are known, None for one that does not exist; None if the cluster does not
        respond. The request creates no topic."""
        responses = self._describe(settings, topics, _SHORT_TIMEOUT)
        names = {topic: response.name() for topic, response in responses.items() if not isinstance(response, str)}
        if any(name.startswith("_") for name in names.values()):  # errors of the client, such as a time-out
            return None
        known = {topic: response for topic, response in responses.items() if isinstance(response, str)}
        return {**known, **{topic: None for topic, name in names.items() if name == "UNKNOWN_TOPIC_OR_PART"}}

    def _request(self, settings: Mapping[str, Any], topics: Collection[str], timeout: float) -> Mapping[str, str]:
        responses = self._describe(settings, topics, timeout).items()
        return {topic: response for topic, response in responses if isinstance(response, str)}

    def _describe(
        self, settings: Mapping[str, Any], topics: Collection[str], timeout: float
    ) -> dict[str, str | KafkaError]:
        """The id of each topic, or the error."""
        from confluent_kafka import KafkaException, TopicCollection

        ids: dict[str, str | KafkaError] = {}
        with self._client(settings).use() as admin:
            asked = admin.describe_topics(TopicCollection(list(topics)), request_timeout=timeout)
            for topic, response in asked.items():
                try:
                    ids[topic] = str(response.result().topic_id)
                except KafkaException as error:  # the topic does not exist, or the cluster does not respond
                    ids[topic] = error.args[0]
                    _log.debug("No id of topic %s: %s", topic, error.args[0].str())
        return ids

    def _client(self, settings: Mapping[str, Any]) -> KeptAdmin:
        name, own = identity(settings)
        with self._lock:
            return self._clients.setdefault(name, KeptAdmin(own))


slot_topic_ids = TopicIdRequests()


_log = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds; limits how long a stopping task waits if the cluster does not respond
_SHORT_TIMEOUT = 1.0  # seconds; of a request without which the task works as well
_AFTER_FAILURE = 1.0  # seconds until the next request
_IDENTITY = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl.")  # settings that identify user and cluster


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


def identity(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The settings of a client that identify cluster and user, as text and as such."""
    identity = {name: value for name, value in settings.items() if name.startswith(_IDENTITY)}
    return json.dumps(identity, sort_keys=True, default=str), identity


slot_topics = TopicLists()
