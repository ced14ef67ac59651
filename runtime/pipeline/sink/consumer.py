"""The consumer of a sink task: its settings, and batches of messages from it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.kafka.denials import consumer_error_text
from runtime.pipeline.produce.client_log import ClientLog

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message
    from confluent_kafka import TopicPartition as KafkaPartition

_log = logging.getLogger(__name__)

_DEFAULTS: dict[str, Any] = {
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": True,  # as Java's consumer does
    "topic.metadata.refresh.interval.ms": 30_000,
    # By default the client stops fetching for a whole second whenever its small queue is full.
    "queued.min.messages": 100_000,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 500,  # the broker answers at once when there is something
}

# Members hear of a rebalance with their next heartbeat: while one of several tasks joins, the others wait that long.
_AMONG_OTHERS: dict[str, Any] = {"heartbeat.interval.ms": 500}

_FETCH = 2048  # KiB that one fetch may bring at the least


OnCommit = Callable[["KafkaError | None", "list[KafkaPartition]"], None]


def make_consumer(settings: Mapping[str, Any], on_commit: OnCommit, share: int, alone: bool = True) -> Consumer:
    """A consumer that commits only when told to, and fetches `share` KiB ahead. `alone`: its group has no others."""
    from confluent_kafka import Consumer

    always = {"enable.auto.commit": False, "enable.auto.offset.store": False, "on_commit": on_commit}
    ahead = {"queued.max.messages.kbytes": share, "fetch.max.bytes": max(share, _FETCH) * 1024}
    group = {} if alone or settings.get("group.protocol") == "consumer" else _AMONG_OTHERS
    return Consumer({**_DEFAULTS, **group, **ahead, **settings, **always, **ClientLog("consumer").settings})


class Events:
    """Looks at what a consumer reports between its messages."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings` are the consumer's."""
        self._settings = settings
        self._told: set[str] = set()

    def without(self, messages: list[Message]) -> list[Message]:
        """The messages alone; raises for events that no waiting will mend."""
        found = [message for message in messages if message.error() is None]
        if len(found) < len(messages):
            for message in messages:
                if (error := message.error()) is not None:
                    self._event(error, message.topic())
        return found

    def _event(self, error: KafkaError, topic: str | None) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._PARTITION_EOF:
            return
        denied = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)
        if error.fatal() or error.code() in (*denied, KafkaError._AUTO_OFFSET_RESET):
            raise ConnectError(f"The consumer cannot continue: {consumer_error_text(error, self._settings, topic)}")
        if error.str() not in self._told:
            self._told.add(error.str())
            _log.warning("%s", error.str())


def fetch(consumer: Consumer, most: int, timeout: float) -> list[Message]:
    """Waits for a first message, and takes with it what else is there. Rebalance callbacks run in here."""
    first = consumer.poll(timeout)
    if first is None:
        return []
    return [first, *consumer.consume(most - 1, 0)] if most > 1 else [first]


def close(consumer: Consumer, timeout: float) -> None:
    """Leave the group. With the broker away that can last as long as the outage: then it goes on by itself."""
    closing = threading.Thread(target=consumer.close, name="consumer-close", daemon=True)
    closing.start()
    closing.join(timeout)
    if closing.is_alive():
        _log.warning("The consumer has not left its group within %.1f s; it does when the broker answers", timeout)
