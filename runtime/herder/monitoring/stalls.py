"""STALLED tasks: RUNNING, with records waiting, but without a record written for a while.

STALLED is a notice and a mark in Headrace's own responses, never a state: clients of Connect know no such state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from runtime.herder.status.meter_board import MeterBoard
from runtime.model.states import TaskId


@dataclass(frozen=True, slots=True)
class _Seen:
    """The task's counter when it last changed."""

    active: float
    since: float


class Stalls:
    """Detects stalled tasks. Event loop only."""

    def __init__(
        self,
        meters: MeterBoard,
        running: Callable[[TaskId], bool],
        notice: Callable[[str, str, TaskId], None],
        after: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`after`: seconds without progress after which a task is stalled. `notice`: called with level, message and
        task."""
        self._meters, self._running, self._notice = meters, running, notice
        self._after, self._clock = after, clock
        self._seen: dict[TaskId, _Seen] = {}
        self._stalled: dict[TaskId, float] = {}
        self._reported: set[str] = set()
        self._connectors: set[str] = set()  # that have stalled tasks

    def is_running(self, task: TaskId) -> bool:
        """Whether the task is RUNNING on this worker, so that its last report still applies."""
        return self._running(task)

    def check(self) -> set[str]:
        """Report tasks that have stalled or recovered since the last call; returns their connectors."""
        self._reported = set()
        waiting = {}
        for name in self._meters.connectors():
            for number, meter in self._meters.by_task(name).items():
                task = TaskId(name, number)
                if meter.waiting > 0 and self._running(task):
                    waiting[task] = meter.waiting
                    active = meter.total("written") + meter.total("throttled_ms")  # a limit is not a stall
                    self._check_task(task, active, meter.waiting)
        for task in [task for task in self._stalled if task not in waiting]:
            self._recovered(task)
        self._seen = {task: seen for task, seen in self._seen.items() if task in waiting}
        self._connectors = {task.connector for task in self._stalled}
        return self._reported

    def stalled(self, connector: str) -> dict[int, float]:
        """Stalled tasks of a connector, with the seconds since their last progress."""
        if connector not in self._connectors:
            return {}
        now = self._clock()
        return {task.task: now - since for task, since in self._stalled.items() if task.connector == connector}

    def _check_task(self, task: TaskId, active: float, waiting: int) -> None:
        now, seen = self._clock(), self._seen.get(task)
        if seen is None or seen.active != active:
            self._seen[task] = _Seen(active, now)
            if task in self._stalled:
                self._recovered(task)
        elif task not in self._stalled and now - seen.since >= self._after:
            self._stalled[task] = seen.since
            duration = now - seen.since
            message = f"{task} is STALLED: {waiting} records are waiting, none was written for {duration:.0f} s"
            self._report("WARN", message, task)

    def _recovered(self, task: TaskId) -> None:
        del self._stalled[task]
        self._report("INFO", f"{task} is no longer stalled", task)

    def _report(self, level: str, message: str, task: TaskId) -> None:
        self._reported.add(task.connector)
        self._notice(level, message, task)
