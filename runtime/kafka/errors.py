"""Errors of Kafka, as a tree.

KafkaProblem
├── BrokerUnavailable     no response in time; the same call may work later
│   ├── WriterFenced      another producer writes under the same transactional id
│   ├── TransactionOpen   records are in a transaction that does not end
│   └── RightMissing      also a NotAuthorizedError; the same call works once the right is granted
├── StorageTopicError     a storage topic does not meet Connect's requirements; a restart does not help
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


class KafkaProblem(Exception):
    """Root of the tree; the message is meant for operators."""


class BrokerUnavailable(KafkaProblem):
    """Kafka did not answer in time."""


class WriterFenced(BrokerUnavailable):
    """Another producer has taken over the transactional id: this one may not write any more."""


class TransactionOpen(BrokerUnavailable):
    """Records cannot be read, since their transaction has not ended in time."""


class StorageTopicError(KafkaProblem):
    """A storage topic does not meet Connect's requirements; the message names the topic and the remedy."""


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
