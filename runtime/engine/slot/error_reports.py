"""Failed records of a slot's tasks on their way to the worker: counts, once a second and only when they changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from runtime.engine.protocol.channel import Message
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread

REPORT_INTERVAL = 1.0  # seconds


class ErrorReports:
    """Looks at every task now and then, so that counting costs the tasks nothing."""

    def __init__(self, tasks: Callable[[], Iterable[TaskThread]], put: Callable[[Message], None]) -> None:
        self._tasks, self._put = tasks, put
        self._reported: dict[TaskThread, int] = {}

    def start(self) -> None:
        threading.Thread(target=self._run, name="error-reports", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(REPORT_INTERVAL):
            self.look()

    def look(self) -> None:
        """Report what has changed."""
        tasks = set(self._tasks())
        for task in tasks:
            self.tell(task)
        for gone in self._reported.keys() - tasks:
            self._reported.pop(gone, None)

    def tell(self, task: TaskThread) -> None:
        """Report this task's counts, unless nothing has changed."""
        errors = task.errors
        if errors is None or errors.changes == self._reported.get(task, 0):
            return
        self._reported[task] = errors.changes
        self._put(about("errors", task.spec, counts=errors.snapshot()))
