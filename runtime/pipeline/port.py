"""The services that the pipeline needs from its slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runtime.model.task_spec import SourceOffset

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.model.states import State
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.produce.producers import Producers


OffsetText = tuple[str, "str | None"]
"""Key and value of a record of the offsets topic, as text; None removes."""

OffsetsRead = Sequence[Mapping[str, Any] | None] | str
"""The offsets of the requested source partitions, in their order; or the reason why they could not be read."""

StartResponse = Sequence[SourceOffset] | Exception
"""The committed offsets with which a task may start, or the exception that ends it."""


class OffsetsHost(Protocol):
    """Reads committed offsets. Thread-safe."""

    def read_offsets(self, spec: TaskSpec, partitions: Sequence[str], answered: Callable[[OffsetsRead], None]) -> None:
        """Have the worker read the committed offsets of these source partitions (as canonical text); `answered` is
        called from another thread."""


class SlotHost(OffsetsHost, Protocol):
    """One per slot. Thread-safe: every task calls it from its own thread."""

    @property
    def producers(self) -> Producers:
        """The slot's shared producers."""

    def state(self, spec: TaskSpec, state: State, trace: str | None = None, client_failed: bool = False) -> None:
        """Report RUNNING, PAUSED, FAILED (with trace), or UNASSIGNED (with the reason) if the task ends and is placed
        again. `client_failed`: the reason is its Kafka client. A graceful end is not reported: run() returns."""

    def topic(self, spec: TaskSpec, topic: str) -> None:
        """Report the first record of this task for a topic."""

    def member(self, spec: TaskSpec, member_id: str) -> None:
        """Report the member id of the task's consumer, whenever it changes."""

    def offsets(self, spec: TaskSpec, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        """Have the worker store these offsets; `answered` is called from another thread with the error, or None.
        ConnectError if an offset is too large to be sent."""

    def confirm_start(self, spec: TaskSpec, answered: Callable[[StartResponse], None]) -> None:
        """Have the worker check, by what the config topic contains now, whether the task may still start; `answered` is
        called from another thread."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """Send a log line; `context` like `[name|task-0]`."""

    def check_lease(self) -> None:
        """Raises RevokedError if the slot's lease has expired. Called before every put, produce and commit."""
