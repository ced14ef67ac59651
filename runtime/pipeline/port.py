"""What the pipeline asks of the slot it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.model.states import State
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.produce.producers import Producers


OffsetText = tuple[str, "str | None"]
"""Key and value of a record of the offsets topic, as text; None removes."""


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
