"""Errors of requests that may succeed later."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

# KafkaError.retriable() is set only for calls of transactional producers.
_NAMES = (
    "_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "BROKER_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE", "LEADER_NOT_AVAILABLE", "NETWORK_EXCEPTION", "NOT_CONTROLLER", "NOT_COORDINATOR",
    "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT", "THROTTLING_QUOTA_EXCEEDED",
)  # fmt: skip


def is_transient(error: KafkaError) -> bool:
    """Whether the same request may succeed later: a broker, leader, coordinator or controller is away or moves."""
    return bool(error.retriable()) or error.name() in _NAMES or _all_fenced(error)


def _all_fenced(error: KafkaError) -> bool:
    """Brokers that have just started, or that a busy controller has not heard of for a while, count as fenced: KRaft
    then refuses to create topics, with the error code of a replication factor that is too high."""
    return error.name() == "INVALID_REPLICATION_FACTOR" and "fenced" in error.str()
