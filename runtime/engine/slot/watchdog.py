"""The slot's look at its tasks: who is inside a call that does not return, and where."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable

from runtime.engine.slot.task_thread import TaskThread
from runtime.pipeline.task.control import PluginCall

OnStuck = Callable[[TaskThread, "PluginCall | None"], None]
"""Hears of a call that lasts too long, and (None) that the task goes on."""


class Watchdog:
    """Looks at every task now and then. What holds the interpreter itself is the lease's to end."""

    def __init__(
        self,
        tasks: Callable[[], Iterable[TaskThread]],
        told: OnStuck,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit` is the seconds that a call of the connector's code may last before the task is called stuck."""
        self._tasks, self._told, self._limit, self._clock = tasks, told, limit, clock
        self._stuck: dict[TaskThread, PluginCall] = {}

    def start(self) -> None:
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._limit / 4):
            self.look()

    def look(self) -> None:
        """Report calls that have become too long, each once, and tasks that go on after one."""
        oldest, seen = self._clock() - self._limit, set()
        for task in self._tasks():
            seen.add(task)
            call, known = task.call, self._stuck.get(task)
            if call is not None and call.since <= oldest:
                if call is not known:
                    self._stuck[task] = call
                    self._told(task, call)
            elif known is not None:
                del self._stuck[task]
                self._told(task, None)
        for gone in self._stuck.keys() - seen:
            del self._stuck[gone]


def stack_of(thread: int | None) -> str:
    """Where a thread is now, as a traceback has it; empty when it has ended."""
    frame = None if thread is None else sys._current_frames().get(thread)
    return "" if frame is None else "".join(traceback.format_stack(frame))
