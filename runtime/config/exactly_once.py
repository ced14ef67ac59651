"""Exactly-once delivery of source connectors (KIP-618): the worker's mode, and its transactional ids."""

from __future__ import annotations

from enum import StrEnum


class ExactlyOnce(StrEnum):
    """The worker property `exactly.once.source.support`."""

    DISABLED = "disabled"
    PREPARING = "preparing"
    """The first rolling restart of an existing cluster: the leader writes in transactions, the tasks do not yet."""
    ENABLED = "enabled"

    @property
    def transactional_leader(self) -> bool:
        """Whether the leader writes the config topic in transactions, so that a former leader cannot write to it."""
        return self is not ExactlyOnce.DISABLED

    @property
    def transactional_tasks(self) -> bool:
        """Whether source tasks write their records and offsets in transactions."""
        return self is ExactlyOnce.ENABLED


def leader_transactional_id(group_id: str) -> str:
    """The transactional id with which the leader of a Connect cluster writes the config topic."""
    return f"connect-cluster-{group_id}"


def task_transactional_id(group_id: str, connector: str, task: int) -> str:
    """The transactional id of a source task. Earlier tasks with the same id are fenced before the task starts."""
    return f"{group_id}-{connector}-{task}"
