"""The errors that end a task, so that it is placed again, without making it FAILED."""

from __future__ import annotations


class TaskLostError(Exception):
    """The task cannot continue, although neither the task nor its records are at fault. It ends, and is restarted
    from its committed offsets after at least `wait` seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class ClientFailedError(TaskLostError):
    """The task's Kafka client has failed. The next client may fail for the same reason, so the task becomes FAILED if
    that repeats without progress."""
