"""When put() is called with an empty batch: see SinkTask.idle_put and empty_puts, and SinkTaskContext.timeout()."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.api.task import SinkTask
    from runtime.pipeline.sink.sink_context import SinkContext


class EmptyPuts:
    """Measures the time since the last put(). Called on the task's thread."""

    def __init__(self, task: SinkTask, context: SinkContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._context, self._clock = task, context, clock
        self._last = clock()
        self._requested: float | None = None  # when the task wants to be called

    def called(self) -> None:
        """put() has returned."""
        self._last, self._requested = self._clock(), None

    def due(self, next_commit: float, paused: bool = False) -> bool:
        """Whether put() must be called, even without records. A task without partitions, or whose connector is paused,
        is called only if it wants all empty puts of Connect."""
        if not self._task.empty_puts and (paused or not self._context.positions):
            return False
        at = self._next(next_commit)
        return at is not None and self._clock() >= at

    def wait(self, longest: float, next_commit: float) -> float:
        """Seconds until put() must be called, at most `longest`."""
        at = self._next(next_commit)
        return longest if at is None else max(0.0, min(longest, at - self._clock()))

    def _next(self, next_commit: float) -> float | None:
        timeout = self._context.take_timeout()
        if timeout is not None:
            self._requested = self._clock() + timeout
        idle = None if self._task.idle_put is None else self._last + self._task.idle_put
        times = (self._requested, idle, next_commit if self._task.empty_puts else None)
        return min((at for at in times if at is not None), default=None)
