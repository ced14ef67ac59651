"""Reports the meters of a slot's tasks to the worker: one message a second with all meters that have changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import cast

from runtime.engine.protocol.messages import MeterPart, MetersMessage, MetersPart
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread

REPORT_INTERVAL = 1.0  # seconds


class MeterReports:
    """Polls the meter of every task: an idle task costs one comparison and no message."""

    def __init__(self, tasks: Callable[[], Iterable[TaskThread]], put: Callable[[MetersMessage], None]) -> None:
        self._tasks, self._put = tasks, put
        self._reported: dict[TaskThread, int] = {}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="meter-reports", daemon=True).start()

    def check(self) -> None:
        """Report the meters that have changed, and forget tasks that have ended."""
        tasks = list(self._tasks())
        self._reported = {task: self._reported.get(task, 0) for task in tasks}
        if changed := [task for task in tasks if self._has_changed(task)]:
            self._put({"op": "meters", "tasks": [self._part(task) for task in changed]})

    def report(self, task: TaskThread) -> None:
        """Report the final meter of a task that has ended."""
        if self._has_changed(task):
            self._put({"op": "meters", "tasks": [self._part(task)]})

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(REPORT_INTERVAL):
            self.check()

    def _has_changed(self, task: TaskThread) -> bool:
        return task.meter is not None and task.meter.changes != self._reported.get(task, 0)

    def _part(self, task: TaskThread) -> MeterPart:
        meter = task.meter
        assert meter is not None
        self._reported[task] = meter.changes
        return {"op": "meter", **about(task.spec), "meter": cast(MetersPart, meter.snapshot())}
