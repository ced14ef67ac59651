"""Reports tasks of the slot that are in a call of the connector which does not return."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable

from runtime.engine.slot.task_thread import TaskThread
from runtime.pipeline.task.control import PluginCall

OnStuck = Callable[[TaskThread, "PluginCall | None"], None]
"""Called with a call that takes too long, and with None when it has returned."""


class Watchdog:
    """Checks every task periodically. The expiry of the lease ends calls that hold the interpreter."""

    def __init__(
        self,
        tasks: Callable[[], Iterable[TaskThread]],
        on_stuck: OnStuck,
        limit: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit`: seconds after which a call of the connector counts as stuck."""
        self._tasks, self._on_stuck, self._limit, self._clock = tasks, on_stuck, limit, clock
        self._stuck: dict[TaskThread, PluginCall] = {}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._limit / 4):
            self.check()

    def check(self) -> None:
        """Report calls that take too long, each once, and their return."""
        oldest, seen = self._clock() - self._limit, set()
        for task in self._tasks():
            seen.add(task)
            call, known = task.call, self._stuck.get(task)
            if call is not None and call.since <= oldest:
                if call is not known:
                    self._stuck[task] = call
                    self._on_stuck(task, call)
            elif known is not None:
                del self._stuck[task]
                self._on_stuck(task, None)
        for ended in self._stuck.keys() - seen:
            del self._stuck[ended]


def stack_of(thread: int | None) -> str:
    """The stack of a thread, as in a traceback; empty if the thread has ended."""
    frame = None if thread is None else sys._current_frames().get(thread)
    return "" if frame is None else "".join(traceback.format_stack(frame))
