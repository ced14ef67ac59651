"""The words of Connect that every part shares: task ids, states, target states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One task of a connector; prints as Connect's logs do (`name-0`)."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


class State(StrEnum):
    """The state of a connector or task as its status record has it."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


class TargetState(StrEnum):
    """What the operator wants a connector to be (the config topic's `state.v2`)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class ConnectorType(StrEnum):
    """Which way a connector's records flow."""

    SOURCE = "source"
    SINK = "sink"


INTERNAL_TOPICS = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))
"""Kafka's own: a pattern of topics never means them, whatever it matches."""
