"""The interface between herder and engine: Engine, and the EngineListener that the herder implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.model.rate_limit import RateLimit
from runtime.model.states import State, TaskId
from runtime.model.task_spec import SourceOffset, TaskSpec


@dataclass(frozen=True, slots=True)
class SlotInfo:
    """One slot as the worker sees it. Memory in bytes: of the slot with its JVM for Java plugins, of that JVM alone,
    and the heap in use in it."""

    slot: int
    attempt: int
    pid: int
    tasks: tuple[TaskId, ...]
    memory: int = 0
    java_memory: int = 0
    java_heap: int = 0
    host: str = ""  # of a slot on another machine


class SlotSilentError(Exception):
    """The slot did not answer: its process has ended, or a call holds its interpreter."""


@dataclass(frozen=True, slots=True)
class TaskStack:
    """The stack of a task's thread. `call` is the connector's method that has been running for `seconds`; empty:
    none."""

    slot: int
    pid: int
    call: str
    seconds: float
    stack: str
    host: str = ""  # of a slot on another machine


class StartRefused(Exception):
    """A task must not start. `final`: starting it again would not help."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class EngineListener(Protocol):
    """Events of the engine; always called on the worker's event loop."""

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        """RUNNING, PAUSED or FAILED (with trace), when the state changes in the slot; UNASSIGNED if the task is about
        to be lost or waits for a slot, with the reason as trace if it is known."""

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        """The first record of this task for a topic (topic tracking)."""

    def task_errors(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        """Counts of failed records in this run of the task (Counts.snapshot())."""

    def task_meter(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        """The work of this run of the task so far (Meter.snapshot())."""

    async def task_offsets(self, task: TaskId, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Store offsets that a source task commits (keys and values of the offsets topic); raises if that fails."""

    async def read_offsets(self, task: TaskId, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        """The offsets of these source partitions (as canonical text) that any worker has committed so far; raises if
        they cannot be read."""

    async def confirm_start(self, task: TaskId, epoch: int) -> Sequence[SourceOffset]:
        """The committed offsets of an exactly-once source task whose producer has just been registered. StartRefused
        if the config topic contains a change by now, after which this run must not start, or if offsets cannot be read.
        """

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        """The task's slot or producer has died, and the engine has removed the task: start it again with current
        offsets. `member_id` identifies the task's consumer, which must be removed from its group."""

    def java_ended(self, reason: str) -> None:
        """The JVM of a slot has ended. Tasks of any connector that used it are about to report the same reason, in
        which the last lines of its output are."""

    def task_stuck(self, task: TaskId, epoch: int, call: str, seconds: float) -> None:
        """The task's poll, put, start or stop (`call`) has not returned for `seconds`; an empty `call`: it has
        returned."""

    def lease_changed(self, held: bool) -> None:
        """The worker's membership in its group is confirmed again, or no longer: without it no task may be started."""

    def slots_changed(self) -> None:
        """A slot has connected or ended."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """A line from a slot or the driver; `context` like `[name|task-0]` or empty."""


class Engine(Protocol):
    """Runs tasks on slots. Not thread-safe: event loop only."""

    @property
    def slots(self) -> Sequence[SlotInfo]:
        """Every connected slot with all its tasks; takes time proportional to the number of tasks."""

    @property
    def has_slots(self) -> bool:
        """Whether any slot is connected."""

    @property
    def slots_without_core(self) -> Sequence[int]:
        """The numbers of the slots that wait for a core of a Spark cluster."""

    @property
    def trouble(self) -> str:
        """Why no task can run, with the remedy if it is known; empty while tasks can run, or Spark starts."""

    def may_run(self) -> bool:
        """Whether this worker's membership in its group is confirmed: only then may its slots run tasks.
        After False, lease_changed(True) follows once it is confirmed again."""

    async def start(self) -> None:
        """Open the channel and start the driver in the background; returns immediately."""

    def start_task(self, spec: TaskSpec) -> None:
        """Run the task on the least loaded slot, or on the first slot to connect if there is none."""

    async def stop_task(self, task: TaskId, graceful: float) -> bool:
        """Stop and remove the task; its offsets are committed first. True if it ended within `graceful` seconds or is
        unknown, False if it had to be revoked."""

    def member_id(self, task: TaskId) -> str | None:
        """The group member id of a task whose stop_task() returned False: its consumer may still be in its group."""

    def pause_task(self, task: TaskId, paused: bool) -> None:
        """Pause or resume a task in its slot; its new state is reported by task_state()."""

    def limit_task(self, task: TaskId, limit: RateLimit) -> None:
        """Change the rate limit of a task, which continues to run."""

    def reset_topics(self, connector: str, at: int) -> None:
        """The topics of a connector were reset at this time (milliseconds since 1970): make its tasks report those used
        since, and the others with their next records."""

    async def stack(self, task: TaskId, within: float) -> TaskStack | None:
        """The stack of the task's thread; None if the task is not on a slot. SlotSilentError without a response within
        `within` seconds."""

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set log levels, by logger, in all present and future slots."""

    def renew_logins(self, logins: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the Kafka clients of all present and future slots these credentials, by login (kafka.clients.logins)."""

    async def close(self, graceful: float) -> None:
        """Stop every task within `graceful` seconds, then slots and driver. No process remains."""
