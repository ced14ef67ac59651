"""Reports the meters and the counts of failed records of a slot's tasks to the worker, once a second and only when they
change."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar, cast

from runtime.engine.protocol.messages import CountsPart, ErrorsMessage, MeterPart, MetersMessage, MetersPart
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread

REPORT_INTERVAL = 1.0  # seconds
_M = TypeVar("_M")


class PolledReports(ABC, Generic[_M]):
    """Polls every task, so that reporting costs the tasks nothing: an idle task costs one comparison and no message."""

    def __init__(self, tasks: Callable[[], Iterable[TaskThread]], put: Callable[[_M], None]) -> None:
        self._tasks, self._put = tasks, put
        self._reported: dict[TaskThread, int] = {}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name=type(self).__name__, daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(REPORT_INTERVAL):
            self.check()

    def check(self) -> None:
        """Report what has changed, and forget tasks that have ended."""
        tasks = list(self._tasks())
        self._reported = {task: self._reported.get(task, 0) for task in tasks}
        self._report(tasks)

    def report(self, task: TaskThread) -> None:
        """Report this task now, unless nothing has changed."""
        self._report([task])

    def _report(self, tasks: Sequence[TaskThread]) -> None:
        changed = [task for task in tasks if self._changes(task) != self._reported.get(task, 0)]
        self._reported |= {task: self._changes(task) for task in changed}
        if changed:
            self._send(changed)

    @abstractmethod
    def _changes(self, task: TaskThread) -> int:
        """A number that grows with each change; 0 if there is nothing to report."""

    @abstractmethod
    def _send(self, tasks: Sequence[TaskThread]) -> None: ...


class ErrorReports(PolledReports[ErrorsMessage]):
    """One message for each task."""

    def _changes(self, task: TaskThread) -> int:
        return 0 if task.errors is None else task.errors.changes

    def _send(self, tasks: Sequence[TaskThread]) -> None:
        for task in tasks:
            assert task.errors is not None
            self._put({"op": "errors", **about(task.spec), "counts": cast(CountsPart, task.errors.snapshot())})


class MeterReports(PolledReports[MetersMessage]):
    """One message with all meters that have changed."""

    def _changes(self, task: TaskThread) -> int:
        return 0 if task.meter is None else task.meter.changes

    def _send(self, tasks: Sequence[TaskThread]) -> None:
        self._put({"op": "meters", "tasks": [_meter(task) for task in tasks]})


def _meter(task: TaskThread) -> MeterPart:
    assert task.meter is not None
    return {"op": "meter", **about(task.spec), "meter": cast(MetersPart, task.meter.snapshot())}
