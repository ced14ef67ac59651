"""Which topics a sink reads: a list, or those that match a Java regular expression as they come and go."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.java_regex import java_regex
from runtime.vocabulary import INTERNAL_TOPICS

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_log = logging.getLogger(__name__)

_LOOK_AGAIN = 5.0  # seconds between two looks at the cluster's topics
_LOOK_SOON = 1.0  # while there is nothing to read at all
_LIST_TIMEOUT = 5.0  # seconds; a stop waits that long at the most when the cluster does not answer


class Subscription:
    """Keeps a consumer subscribed. A topic that does not exist yet is read as soon as it does."""

    def __init__(
        self,
        consumer: Consumer,
        topics: Sequence[str],
        regex: str,
        callbacks: dict[str, Callable[..., Any]],
        creates: bool = True,
    ):
        """`creates`: topics that are named and missing are asked for, so that a broker that may do so makes them."""
        self._consumer, self._creates = consumer, creates
        self._named = set(topics)
        self._pattern = java_regex(regex) if regex else None
        self._callbacks = callbacks
        self._existing: set[str] | None = None
        self._next_look = 0.0

    def update(self) -> None:
        """To be called often; looks at the cluster now and then, while there is something to be found."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + (_LOOK_AGAIN if self._existing else _LOOK_SOON)
        if self._pattern is None and self._existing == self._named:
            return
        existing = self._look()
        if existing is None or existing == self._existing:
            if self._existing is None and self._named:
                self._subscribe(set())  # the broker is away; the client will find the topics when it is back
            return
        self._subscribe(existing)

    def _subscribe(self, existing: set[str]) -> None:
        self._existing = existing
        wanted = self._named or existing
        if wanted:
            _log.info("Subscribed to %s", ", ".join(sorted(wanted)))
            self._consumer.subscribe(sorted(wanted), **self._callbacks)
        else:
            _log.info("There is no topic to read yet")
            self._consumer.unsubscribe()

    def _look(self) -> set[str] | None:
        """The topics that are wanted and exist; None when the cluster does not answer."""
        from confluent_kafka import KafkaException

        try:
            topics: set[str] = set(self._consumer.list_topics(timeout=_LIST_TIMEOUT).topics)
        except KafkaException as error:
            _log.warning("Topics could not be listed, trying again: %s", error.args[0].str())
            return None
        if self._pattern is None:
            if self._creates:
                self._ask_for(self._named - topics)
            return self._named & topics
        matches = self._pattern.fullmatch
        return {topic for topic in topics if topic not in INTERNAL_TOPICS and matches(topic)}

    def _ask_for(self, missing: set[str]) -> None:
        """As Java's consumer does by subscribing; this one's subscribe() creates nothing."""
        from confluent_kafka import KafkaException

        for topic in missing:
            try:
                self._consumer.list_topics(topic, timeout=_LIST_TIMEOUT)
            except KafkaException as error:
                _log.debug("The topic %s could not be asked for: %s", topic, error.args[0].str())
