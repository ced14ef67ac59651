"""Tasks whose Kafka clients fail again and again without a record in between: trying again does not help them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runtime.api.errors import ConnectError
from runtime.model.states import TaskId

MIN_FAILURES = 5
"""Failures in a row after which a task is given up."""

MIN_SECONDS = 60.0
"""Time between the first and the last of them: a broker that restarts may cause several failures within seconds."""


@dataclass(slots=True)
class _Series:
    since: float
    failures: int = 0


class ClientFailures:
    """Counts the failures of each task since its last progress. Event loop only."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._series: dict[TaskId, _Series] = {}

    def failed(self, task: TaskId, reason: str) -> str | None:
        """The task's client has failed. Returns the trace with which the task fails if it is given up."""
        now = self._clock()
        series = self._series.setdefault(task, _Series(now))
        series.failures += 1
        if series.failures < MIN_FAILURES or now - series.since < MIN_SECONDS:
            return None
        return (
            f"{ConnectError.java_name}: The task was restarted {series.failures - 1} times in "
            f"{now - series.since:.0f} s, and has not written a record meanwhile. The last time: {reason}\n"
        )

    def forget(self, task: TaskId) -> None:
        """The task has written records, or was stopped."""
        self._series.pop(task, None)
