"""STALLED: a task that is RUNNING, has records waiting, and has written none for a while. A notice and a mark of ours;
never a state, since Connect's clients know none of that name."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from runtime.herder.status.meter_board import MeterBoard
from runtime.model.states import TaskId


@dataclass(frozen=True, slots=True)
class _Seen:
    """How a task stood when it last got on."""

    written: float
    since: float


class Stalls:
    """Looks at all tasks now and then. Event loop only."""

    def __init__(
        self,
        meters: MeterBoard,
        running: Callable[[TaskId], bool],
        notice: Callable[[str, str, TaskId], None],
        after: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`after`: seconds without progress."""
        self._meters, self._running, self._notice = meters, running, notice
        self._after, self._clock = after, clock
        self._seen: dict[TaskId, _Seen] = {}
        self._stalled: dict[TaskId, float] = {}
        self._reported: set[str] = set()
        self._connectors: set[str] = set()  # that have stalled tasks

    def is_running(self, task: TaskId) -> bool:
        """Whether what the task told last still holds."""
        return self._running(task)

    def look(self) -> set[str]:
        """Tell of tasks that have stalled, and of those that go on; the connectors they are of."""
        self._reported = set()
        waiting = {}
        for name in self._meters.connectors():
            for number, meter in self._meters.by_task(name).items():
                task = TaskId(name, number)
                if meter.waiting > 0 and self._running(task):
                    waiting[task] = meter.waiting
                    self._check_task(task, meter.total("written"), meter.waiting)
        for task in [task for task in self._stalled if task not in waiting]:
            self._recovered(task)
        self._seen = {task: seen for task, seen in self._seen.items() if task in waiting}
        self._connectors = {task.connector for task in self._stalled}
        return self._reported

    def stalled(self, connector: str) -> dict[int, float]:
        """Its tasks that have stalled, and for how many seconds."""
        if connector not in self._connectors:
            return {}
        now = self._clock()
        return {task.task: now - since for task, since in self._stalled.items() if task.connector == connector}

    def _check_task(self, task: TaskId, written: float, waiting: int) -> None:
        now, seen = self._clock(), self._seen.get(task)
        if seen is None or seen.written != written:
            self._seen[task] = _Seen(written, now)
            if task in self._stalled:
                self._recovered(task)
        elif task not in self._stalled and now - seen.since >= self._after:
            self._stalled[task] = seen.since
            words = f"{task} is STALLED: {waiting} records wait, and none was written for {now - seen.since:.0f} s"
            self._report("WARN", words, task)

    def _recovered(self, task: TaskId) -> None:
        del self._stalled[task]
        self._report("INFO", f"{task} is not stalled any more", task)

    def _report(self, level: str, words: str, task: TaskId) -> None:
        self._reported.add(task.connector)
        self._notice(level, words, task)
