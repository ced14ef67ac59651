"""Tasks that are on slots when these die: the second time they are kept apart, until it is known which one it is.

Nobody can tell which of a slot's tasks has ended its process. So those that have seen two deaths are divided among
cells, slots of their own; when one of these dies, its tasks are divided again, until a task that kills sits alone and
its neighbours run on elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.model.states import TaskId

CELLS_PER_DEATH = 4  # into how many the tasks of a dead slot are divided
SUSPICION_TIMEOUT = 1800.0  # seconds without another death
DRIVER_GRACE = 3.0  # seconds before a driver's end in which slots die because of it

Cell = tuple[float, int]


@dataclass(slots=True)
class DeathRecord:
    """How often the task's slot has died of late, when last, and where the task has to live since."""

    deaths: int = 0
    last: float = 0.0
    cell: Cell | None = None


class Suspects:
    """Counts deaths."""

    def __init__(self) -> None:
        self._records: dict[TaskId, DeathRecord] = {}

    @property
    def any(self) -> bool:
        """Whether any task's slot has died."""
        return bool(self._records)

    def slot_died(self, tasks: Iterable[TaskId], now: float) -> Sequence[TaskId]:
        """Those who are suspects now, and were not before or with so many others."""
        suspects = []
        for task in tasks:
            record = self._records.setdefault(task, DeathRecord())
            record.deaths, record.last = record.deaths + 1, now
            if record.deaths > 1:
                suspects.append(task)
        for place, task in enumerate(suspects):
            self._records[task].cell = now, place % CELLS_PER_DEATH
        return suspects

    def driver_ended(self, now: float) -> None:
        """Spark's driver takes its slots along: the deaths of this moment are nobody's fault."""
        for task, record in list(self._records.items()):
            if now - record.last <= DRIVER_GRACE:
                del self._records[task]

    def cell(self, task: TaskId, now: float) -> Cell | None:
        """Where the task has to live, when it may not live with all others."""
        record = self._records.get(task)
        if record is None:
            return None
        if now - record.last > SUSPICION_TIMEOUT:
            del self._records[task]
            return None
        return record.cell
