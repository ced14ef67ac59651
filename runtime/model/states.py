"""Connect's task ids, states, target states and connector types, shared by all parts of the worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One task of a connector; its text is as in Connect's logs (`name-0`)."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


class State(StrEnum):
    """The state of a connector or task, as in its status record."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


ACTIVE = frozenset((State.RUNNING, State.PAUSED, State.RESTARTING))
"""States of what runs on the worker that reports it."""


class TargetState(StrEnum):
    """The state requested by the operator (`state.v2` in the config topic)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class ConnectorType(StrEnum):
    """The direction in which a connector moves records."""

    SOURCE = "source"
    SINK = "sink"


INTERNAL_TOPICS = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))
"""Kafka's internal topics, which `topics.regex` never matches."""
