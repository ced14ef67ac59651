"""What a slot's tasks have done, on its way to the worker: one message a second for all that has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from runtime.engine.protocol.channel import Message
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread

REPORT_INTERVAL = 1.0  # seconds


class MeterReports:
    """Looks at every task now and then: idle tasks cost a comparison, and nothing on the channel."""

    def __init__(self, tasks: Callable[[], Iterable[TaskThread]], put: Callable[[Message], None]) -> None:
        self._tasks, self._put = tasks, put
        self._reported: dict[TaskThread, int] = {}

    def start(self) -> None:
        threading.Thread(target=self._run, name="meter-reports", daemon=True).start()

    def look(self) -> None:
        """Report what has changed, and forget tasks that have ended."""
        tasks = list(self._tasks())
        self._reported = {task: self._reported.get(task, 0) for task in tasks}
        if changed := [task for task in tasks if self._has_news(task)]:
            self._put({"op": "meters", "tasks": [self._report(task) for task in changed]})

    def tell(self, task: TaskThread) -> None:
        """The last word of a task that has ended."""
        if self._has_news(task):
            self._put({"op": "meters", "tasks": [self._report(task)]})

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(REPORT_INTERVAL):
            self.look()

    def _has_news(self, task: TaskThread) -> bool:
        return task.meter is not None and task.meter.changes != self._reported.get(task, 0)

    def _report(self, task: TaskThread) -> Message:
        meter = task.meter
        assert meter is not None
        self._reported[task] = meter.changes
        return about("meter", task.spec, meter=meter.snapshot())
