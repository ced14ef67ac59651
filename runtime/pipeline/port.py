"""What the pipeline asks of the slot it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.pipeline.producers import Producers
    from runtime.task_spec import TaskSpec
    from runtime.vocabulary import State


OffsetText = tuple[str, "str | None"]
"""Key and value of a record of the offsets topic, as text; None removes."""


class RevokedError(Exception):
    """The task has been given up (lease over, revoked): it ends at once, commits nothing and reports nothing."""


class TaskLostError(Exception):
    """The task cannot continue, although neither the task nor its records are at fault. The task ends and is handed
    out again from its committed offsets after `wait` seconds at the earliest."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class SlotHost(Protocol):
    """One per slot. Thread-safe: every task calls it from its own thread."""

    @property
    def producers(self) -> Producers:
        """The slot's shared producers."""

    def state(self, spec: TaskSpec, state: State, trace: str | None = None) -> None:
        """RUNNING, PAUSED, FAILED (with trace), or UNASSIGNED (with the reason) if the task ends and is handed out
        again. A graceful end reports nothing: run() returns."""

    def topic(self, spec: TaskSpec, topic: str) -> None:
        """The first record of this task for a topic."""

    def member(self, spec: TaskSpec, member_id: str) -> None:
        """The id of the task's consumer in its group, whenever it changes."""

    def offsets(self, spec: TaskSpec, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        """Have the worker keep these offsets; `answered` is called from another thread, with what went wrong."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """A log line; `context` like `[name|task-0]`."""

    def check_lease(self) -> None:
        """Raises RevokedError when the slot's lease is over: asked before every put, produce and commit."""
