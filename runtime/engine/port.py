"""The engine as the herder sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.engine.spec import SlotInfo, TaskSpec
from runtime.vocabulary import TaskId


class Engine(Protocol):
    """Runs tasks on slots. Not thread-safe: event loop only."""

    @property
    def slots(self) -> Sequence[SlotInfo]: ...

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

    async def close(self, graceful: float) -> None:
        """Stop every task, then slots and driver. No process is left behind."""
