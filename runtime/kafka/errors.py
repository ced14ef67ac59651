"""What can go wrong with Kafka, as a tree.

KafkaProblem
├── BrokerUnavailable     no answer in time; the same call may work later
├── StorageTopicError     a storage topic is not what Connect needs; restarting does not help
├── NotAuthorizedError    a right is missing; the message names principal, operation and resource
├── ClientConfigError     a client property has a value that no client takes
├── GroupError            a request about a consumer group was refused
│   ├── GroupNotAuthorized  also a NotAuthorizedError
│   ├── GroupNotEmpty     the group still has members
│   └── OffsetsRefused    some partitions were refused; `partitions` says which and why
└── GroupOccupied         the worker group belongs to someone else
"""

from __future__ import annotations

from collections.abc import Mapping


class KafkaProblem(Exception):
    """Root of the tree; the message is fit for operators."""


class BrokerUnavailable(KafkaProblem):
    """Kafka did not answer in time."""


class StorageTopicError(KafkaProblem):
    """A storage topic is missing something Connect cannot do without; the message names topic and remedy."""


class NotAuthorizedError(KafkaProblem):
    """The brokers refuse the worker's principal an operation."""


class ClientConfigError(KafkaProblem):
    """A client property's value is impossible; worded as Connect words it."""


class GroupError(KafkaProblem):
    """The group coordinator refused."""


class GroupNotAuthorized(GroupError, NotAuthorizedError):
    """The brokers refuse the worker's principal an operation on a group."""


class GroupNotEmpty(GroupError):
    """The group has live members, so its offsets cannot be changed."""


class OffsetsRefused(GroupError):
    """Offsets of some partitions were refused."""

    def __init__(self, partitions: Mapping[tuple[str, int], str]) -> None:
        details = ", ".join(f"{topic}-{number}: {why}" for (topic, number), why in sorted(partitions.items()))
        super().__init__(f"offsets were refused: {details}")
        self.partitions = dict(partitions)


class GroupOccupied(KafkaProblem):
    """Another worker or a Java Connect cluster holds the worker group."""
