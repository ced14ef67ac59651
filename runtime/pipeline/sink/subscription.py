"""The topics that a sink reads: a list, or those that currently match a Java regular expression."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.model.states import INTERNAL_TOPICS
from runtime.pipeline.sink.topic_lists import TopicLists, slot_topics
from runtime.pipeline.topic_ids import slot_topic_ids

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_log = logging.getLogger(__name__)

_CHECK_INTERVAL = 1.0  # seconds between two checks of the known topics
_IDS_INTERVAL = 5.0  # seconds between two checks whether the topics are still the same
_OUTAGE_INTERVAL = 30.0  # the same, after a check without a response
_MAX_AGE = 30.0  # maximum age of a list of topics without metadata.max.age.ms
_MAX_AGE_IDLE = 5.0  # the same, while there is nothing to read
_TIMEOUT = 5.0  # seconds


Ids = Callable[[Mapping[str, Any], Collection[str]], Mapping[str, str | None] | None]
"""Arguments: settings of a client, and topics; returns their ids, None for those that do not exist, or None without a
response."""


class Subscription:
    """Keeps a consumer subscribed. A topic that does not exist yet is read as soon as it does."""

    def __init__(
        self,
        consumer: Consumer,
        settings: Mapping[str, Any],
        topics: Sequence[str],
        regex: str,
        callbacks: dict[str, Callable[..., Any]],
        checked: Callable[[Mapping[str, str | None]], None],
        lists: TopicLists = slot_topics,
        ids: Ids = slot_topic_ids.ids,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`settings` are the consumer's. Missing named topics are requested, so that the broker creates them if the
        consumer may create topics, and `metadata.max.age.ms` bounds the age of the list to which a pattern is
        applied. `checked` is called with the present ids of the topics, None for a topic that does not exist."""
        self._consumer, self._settings, self._lists, self._clock = consumer, settings, lists, clock
        self._max_age = int(settings.get("metadata.max.age.ms", _MAX_AGE * 1000)) / 1000
        self._named = set(topics)
        self._pattern = regex
        self._callbacks = callbacks
        self._existing: set[str] | None = None
        self.responded = False
        """Whether a broker has responded to a request for topics."""
        self._checked, self._ask_ids = checked, ids
        self._deleted = set[str]()
        self._ids_interval = _IDS_INTERVAL if topics else _MAX_AGE
        self._next_ids = clock() + self._ids_interval
        self._seen: frozenset[str] | None = None
        self._next_check = 0.0

    def update(self) -> None:
        """Check for new topics if that is due. Called often."""
        now = self._clock()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_INTERVAL
        existing = self._matching() if self._pattern else self._existing_named()
        if existing is None or existing == self._existing:
            if self._existing is None and self._named:
                self._subscribe(set())  # no response: the client finds the topics when the broker responds
            return
        self._subscribe(existing)

    def _subscribe(self, existing: set[str]) -> None:
        self._existing = existing
        wanted = self._named - self._deleted or existing
        if wanted:
            _log.info("Subscribed to %s", ", ".join(sorted(wanted)))
            self._consumer.subscribe(sorted(wanted), **self._callbacks)
        else:
            _log.info("No topic matches yet")
            self._consumer.unsubscribe()

    def _matching(self) -> set[str] | None:
        """The topics that match the pattern; None if the cluster does not respond."""
        self._check_ids(self._existing or set())
        age = self._max_age if self._existing else min(self._max_age, _MAX_AGE_IDLE)
        names = self._lists.names(self._consumer, self._settings, _CHECK_INTERVAL if self._existing is None else age)
        self.responded |= names is not None
        if names is None or names is self._seen:
            return self._existing
        self._seen = names
        matches = LimitedMatch(self._pattern)
        return {topic for topic in names if topic not in INTERNAL_TOPICS and matches(topic)}

    def _existing_named(self) -> set[str] | None:
        """The named topics that exist; None if the cluster does not respond. All topics are listed once; later requests
        are for missing topics only."""
        if self._existing is not None:
            self._deleted |= self._check_ids(self._existing)
            created = self._requested(self._named - self._existing)
            self._deleted -= created
            return self._existing - self._deleted | created
        names = self._lists.names(self._consumer, self._settings, _CHECK_INTERVAL)
        if names is None:
            return None
        self.responded = True
        # The list may be older than a topic: a second subscription would be a rebalance
        return self._named & names | self._requested(self._named - names)

    def _check_ids(self, existing: set[str]) -> set[str]:
        """The topics among these that were deleted. Java's consumer learns of them when it fetches, librdkafka's from
        its next metadata; it continues in a topic that was created again where it was in the deleted one."""
        now = self._clock()
        if now < self._next_ids or not existing:
            return set()
        ids = self._ask_ids(self._settings, existing)
        self._next_ids = now + (_OUTAGE_INTERVAL if ids is None else self._ids_interval)
        if ids is None:
            return set()
        self._checked(ids)
        return {topic for topic, topic_id in ids.items() if topic_id is None}

    def _requested(self, missing: set[str]) -> set[str]:
        """The topics among these that exist now. The request creates missing topics where the broker allows it, as
        subscribe() of Java's consumer does, unlike librdkafka's."""
        from confluent_kafka import KafkaException

        topics = set()
        for topic in missing:
            try:
                response = self._consumer.list_topics(topic, timeout=_TIMEOUT).topics.get(topic)
            except KafkaException as error:
                _log.debug("Metadata of topic %s could not be read: %s", topic, error.args[0].str())
                break
            self.responded = True
            if response is not None and response.error is None:
                topics.add(topic)
        return topics
