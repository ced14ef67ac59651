"""Tasks whose slots die: after the second death they are isolated, until the task at fault is found.

The task that ended the process of a slot cannot be determined directly. So tasks that have been through two deaths are
divided among cells, which are separate slots; when a cell dies, its tasks are divided again, until the task at
fault is alone in its cell and the other tasks run elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.model.states import TaskId

CELLS_PER_DEATH = 4  # cells among which the tasks of a dead slot are divided
SUSPICION_TIMEOUT = 1800.0  # seconds without another death after which a task is no longer isolated
DRIVER_GRACE = 3.0  # seconds before the end of a driver in which deaths of slots are attributed to it

Cell = tuple[float, int]


@dataclass(slots=True)
class DeathRecord:
    """The deaths of a task's slots: their number, the time of the last one, and the cell assigned since."""

    deaths: int = 0
    last: float = 0.0
    cell: Cell | None = None


class Suspects:
    """The deaths of slots, by task."""

    def __init__(self) -> None:
        self._records: dict[TaskId, DeathRecord] = {}

    @property
    def any(self) -> bool:
        """Whether the slot of any task has died."""
        return bool(self._records)

    def slot_died(self, tasks: Iterable[TaskId], now: float) -> Sequence[TaskId]:
        """Count a death for all tasks of the slot. Returns the tasks that are isolated from now on, in new cells."""
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
        """The driver has ended, and its slots with it: recent deaths are not counted against any task."""
        for task, record in list(self._records.items()):
            if now - record.last <= DRIVER_GRACE:
                del self._records[task]

    def cell(self, task: TaskId, now: float) -> Cell | None:
        """The cell that the task has to run in; None if it may run on any slot."""
        record = self._records.get(task)
        if record is None:
            return None
        if now - record.last > SUSPICION_TIMEOUT:
            del self._records[task]
            return None
        return record.cell
