"""Transactional producers: their connections before the first request, and the names of missing rights."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_TIMEOUT = 1.0  # seconds for each connection


def connect(producer: Any, topic: str) -> None:
    """Wait for the producer's connections to a bootstrap server and to the broker behind it. Without them librdkafka
    repeats its first request only after half a second. `topic` is any topic that may be described. Blocks."""
    from confluent_kafka import KafkaException

    with contextlib.suppress(KafkaException):  # the next request fails for the same reason
        for _ in range(2):
            producer.list_topics(topic, timeout=_TIMEOUT)


def missing_right(error: KafkaError) -> str:
    """The right on the transactional id whose absence caused TRANSACTIONAL_ID_AUTHORIZATION_FAILED: looking up the
    coordinator needs DESCRIBE, which WRITE includes."""
    return "DESCRIBE" if "coordinator" in error.str() else "WRITE"
