"""Reports the counts of failed records of a slot's tasks to the worker, once a second and only when they change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import cast

from runtime.engine.protocol.messages import CountsPart, ErrorsMessage
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread

REPORT_INTERVAL = 1.0  # seconds


class ErrorReports:
    """Polls the counts of every task, so that reporting costs the tasks nothing."""

    def __init__(self, tasks: Callable[[], Iterable[TaskThread]], put: Callable[[ErrorsMessage], None]) -> None:
        self._tasks, self._put = tasks, put
        self._reported: dict[TaskThread, int] = {}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="error-reports", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(REPORT_INTERVAL):
            self.check()

    def check(self) -> None:
        """Report the counts that have changed."""
        tasks = set(self._tasks())
        for task in tasks:
            self.report(task)
        for ended in self._reported.keys() - tasks:
            self._reported.pop(ended, None)

    def report(self, task: TaskThread) -> None:
        """Report this task's counts, unless nothing has changed."""
        errors = task.errors
        if errors is None or errors.changes == self._reported.get(task, 0):
            return
        self._reported[task] = errors.changes
        self._put({"op": "errors", **about(task.spec), "counts": cast(CountsPart, errors.snapshot())})
