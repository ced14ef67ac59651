"""The consumer of a sink task: its settings, and batches of messages from it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

_log = logging.getLogger(__name__)

_DEFAULTS: dict[str, Any] = {
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": True,  # as Java's consumer does
    "topic.metadata.refresh.interval.ms": 30_000,
    # By default the client stops fetching for a whole second whenever its small queue is full.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 100,
}


def make_consumer(settings: Mapping[str, Any]) -> Consumer:
    """A consumer that commits only when told to."""
    from confluent_kafka import Consumer

    return Consumer(
        {
            **_DEFAULTS,
            **settings,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "error_cb": _Errors(),
            "logger": logging.getLogger("librdkafka.consumer"),
        }
    )


class _Errors:
    """Logs what happens on the consumer's connections, once for each kind in a row."""

    def __init__(self) -> None:
        self._told = ""

    def __call__(self, error: KafkaError) -> None:
        if error.str() != self._told:
            self._told = error.str()
            _log.warning("The consumer will try again: %s", error.str())


class Events:
    """Looks at what a consumer reports between its messages."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def without(self, messages: list[Message]) -> list[Message]:
        """The messages alone; raises for events that no waiting will mend."""
        found = [message for message in messages if message.error() is None]
        if len(found) < len(messages):
            for message in messages:
                if (error := message.error()) is not None:
                    self._event(error)
        return found

    def _event(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._PARTITION_EOF:
            return
        denied = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)
        if error.fatal() or error.code() in denied:
            raise ConnectError(f"The consumer cannot go on: {error.str()}")
        if error.str() not in self._told:
            self._told.add(error.str())
            _log.warning("%s", error.str())


def fetch(consumer: Consumer, most: int, timeout: float) -> list[Message]:
    """Waits for a first message, and takes with it what else is there. Rebalance callbacks run in here."""
    first = consumer.poll(timeout)
    if first is None:
        return []
    return [first, *consumer.consume(most - 1, 0)] if most > 1 else [first]
