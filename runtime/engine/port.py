"""The engine as the herder sees it, and what the herder hears from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.model.states import State, TaskId
from runtime.model.task_spec import TaskSpec


@dataclass(frozen=True, slots=True)
class SlotInfo:
    """One slot as the worker sees it."""

    slot: int
    attempt: int
    pid: int
    tasks: tuple[TaskId, ...]


class SlotSilentError(Exception):
    """The slot did not answer: it is gone, or one call holds its whole interpreter."""


@dataclass(frozen=True, slots=True)
class TaskStack:
    """Where a task's thread is. `call` is the connector's method it is in, for `seconds`; empty: in none."""

    slot: int
    pid: int
    call: str
    seconds: float
    stack: str


class EngineListener(Protocol):
    """What the herder hears from the engine; always called on the worker's event loop."""

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        """RUNNING, PAUSED, FAILED (with trace) or UNASSIGNED (about to be lost), when the state changes in the slot."""

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        """The first record of this task for a topic (topic tracking)."""

    def task_errors(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        """What became of failed records in this run of the task so far (Counts.snapshot())."""

    def task_meter(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        """What this run of the task has done so far (Meter.snapshot())."""

    async def task_offsets(self, task: TaskId, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Keep what a source task has committed (keys and values of the offsets topic); raises when that fails."""

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        """The task's slot or its producer died. The engine has forgotten it: hand it out again with fresh offsets.
        `member_id` identifies the task's consumer, which has to be evicted from its group."""

    def task_stuck(self, task: TaskId, epoch: int, call: str, seconds: float) -> None:
        """The task's poll, put, start or stop (`call`) has not returned for so long; an empty `call`: it goes on."""

    def lease_changed(self, held: bool) -> None:
        """The worker's place in its group is confirmed again, or no more: without it no task may be started."""

    def slots_changed(self) -> None:
        """A slot came or went."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """A line from a slot or the driver; `context` like `[name|task-0]` or empty."""


class Engine(Protocol):
    """Runs tasks on slots. Not thread-safe: event loop only."""

    @property
    def slots(self) -> Sequence[SlotInfo]:
        """Every slot with all its tasks: a look at everything."""

    @property
    def has_slots(self) -> bool:
        """Whether there is a slot at all."""

    def may_run(self) -> bool:
        """Whether this worker's place in its group is confirmed: only then may its slots run tasks.
        After a no there is a lease_changed(True) to wait for."""

    async def start(self) -> None:
        """Open the channel and start the driver in the background; returns at once."""

    def start_task(self, spec: TaskSpec) -> None:
        """Run the task on the least loaded slot, or on the first one to come up when there is none."""

    async def stop_task(self, task: TaskId, graceful: float) -> bool:
        """Stop and forget the task; its offsets are committed first. True when it ended by itself within
        `graceful` seconds, False when it had to be revoked. Unknown tasks are True."""

    def member_id(self, task: TaskId) -> str | None:
        """The group member id of a task whose stop_task() was False: its consumer may still be in its group."""

    def pause_task(self, task: TaskId, paused: bool) -> None:
        """Pause or resume a task where it is; its new state comes as task_state()."""

    def forget_topics(self, connector: str) -> None:
        """Have the tasks of a connector report the topics they use anew, each with its next record."""

    async def stack(self, task: TaskId, within: float) -> TaskStack | None:
        """Where the task's thread is now; None when it has none. SlotSilentError without an answer in time."""

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set log levels, by logger, in every slot that there is and will be."""

    async def close(self, graceful: float) -> None:
        """Stop every task, then slots and driver. No process is left behind."""
