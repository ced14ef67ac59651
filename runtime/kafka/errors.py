"""Errors of Kafka, as a tree.

KafkaProblem
├── BrokerUnavailable     no response in time; the same call may work later
│   ├── WriterFenced      another producer writes under the same transactional id
│   ├── EndpointUnavailable no token or ticket in time
│   ├── TransactionOpen   records are in a transaction that does not end
│   └── RightMissing      also a NotAuthorizedError; the same call works once the right is granted
├── StorageTopicError     a storage topic does not meet Connect's requirements; a restart does not help
├── RecordTooLarge        a record for a storage topic is too large; another attempt does not help
├── NotAuthorizedError    a right is missing; the message names principal, operation and resource
├── ClientConfigError     a client property has an invalid value
├── GroupError            a request about a consumer group was refused
│   ├── GroupNotAuthorized  also a NotAuthorizedError
│   ├── GroupNotEmpty     the group still has members
│   └── OffsetsRefused    some partitions were refused; `partitions` holds the reasons
└── GroupOccupied         another worker is in the worker group
"""

from __future__ import annotations

from collections.abc import Mapping
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


class KafkaProblem(Exception):
    """Root of the tree; the message is meant for operators."""


class BrokerUnavailable(KafkaProblem):
    """Kafka did not respond in time."""


class WriterFenced(BrokerUnavailable):
    """Another producer has taken over the transactional id: this one may not write any more."""


class EndpointUnavailable(BrokerUnavailable):
    """Who gives credentials, a token endpoint or a KDC, did not respond in time or reported an error of its own."""


class TransactionOpen(BrokerUnavailable):
    """Records cannot be read, since their transaction has not ended in time."""


class StorageTopicError(KafkaProblem):
    """A storage topic does not meet Connect's requirements; the message names the topic and the remedy."""


class RecordTooLarge(KafkaProblem):
    """A record for a storage topic exceeds a limit; the message names the size, the limit and the remedy."""


class NotAuthorizedError(KafkaProblem):
    """The worker's principal is not authorized for an operation."""


class ClientConfigError(KafkaProblem):
    """A client property has an invalid value; worded as in Connect."""

    java_name = "org.apache.kafka.common.config.ConfigException"


class RightMissing(BrokerUnavailable, NotAuthorizedError):
    """A topic cannot be used until a right is granted."""


class GroupError(KafkaProblem):
    """The group coordinator refused a request."""


class GroupNotAuthorized(GroupError, NotAuthorizedError):
    """The worker's principal is not authorized for an operation on a group."""


class GroupNotEmpty(GroupError):
    """The group has live members, so its offsets cannot be changed."""


class OffsetsRefused(GroupError):
    """Offsets of some partitions were refused; `partitions` holds the reasons."""

    def __init__(self, partitions: Mapping[tuple[str, int], str]) -> None:
        details = ", ".join(f"{topic}-{number}: {why}" for (topic, number), why in sorted(partitions.items()))
        super().__init__(f"offsets were refused: {details}")
        self.partitions = dict(partitions)


class GroupOccupied(KafkaProblem):
    """Another worker or a Java Connect cluster holds the worker group."""
