"""Errors that end a task without making it FAILED."""

from __future__ import annotations


class RevokedError(Exception):
    """The task has been given up (lease over, revoked): it ends at once, commits nothing and reports nothing."""


class TaskLostError(Exception):
    """The task cannot continue, although neither the task nor its records are at fault. The task ends and is handed
    out again from its committed offsets after `wait` seconds at the earliest."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait
