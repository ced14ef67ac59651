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

MAX_LONELY_ENDS = 5
"""Ends of a JVM in a row that only one task used and whose code ended it, after which the task fails."""

LONELY_TIMEOUT = 600.0  # seconds between two of these ends after which they are not in a row
KILLS_TIMEOUT = 60.0  # the same for JVMs that were killed from outside
FREE_KILLS = 2
MAX_KILL_REST = 5.0  # seconds
_FIRST_REST = 1.0  # seconds before the task is placed again after the second of these ends; doubles

Cell = tuple[float, int]


@dataclass(slots=True)
class DeathRecord:
    """The deaths of a task's slots and JVMs: their number, the time of the last one, and the cell assigned since.

    `lonely_ends`: ends in a row of JVMs that only this task used, by code in them; `kills`: from outside;
    `rests_until`: the task is not placed before that."""

    deaths: int = 0
    last: float = 0.0
    cell: Cell | None = None
    lonely_ends: int = 0
    kills: int = 0
    rests_until: float = 0.0


def is_suspicion(cell: object) -> bool:
    """Whether a cell of tasks is one of those below."""
    return isinstance(cell, tuple)


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

    def java_ended(self, tasks: Sequence[TaskId], at_fault: bool, now: float) -> Sequence[TaskId]:
        """The JVM that these tasks of a slot used has ended; `at_fault`: by code in it. Several tasks are suspected as
        when a slot dies. A task that used the JVM alone harms no other one: it rests longer after each end. Returns the
        tasks that have to fail."""
        if len(tasks) != 1:
            self.slot_died(tasks, now)
            return []
        record = self._records.setdefault(tasks[0], DeathRecord())
        if now - record.last > LONELY_TIMEOUT:
            record.lonely_ends = 0
        if now - record.last > KILLS_TIMEOUT:
            record.kills = 0
        record.last = now
        if not at_fault:  # such as by the system, because memory is short
            record.kills += 1
            if record.kills > FREE_KILLS:
                record.rests_until = now + min(_FIRST_REST * 2 ** (record.kills - FREE_KILLS - 1), MAX_KILL_REST)
            return []
        record.lonely_ends += 1
        if record.lonely_ends > 1:
            record.rests_until = now + _FIRST_REST * 2 ** (record.lonely_ends - 2)
        return tasks if record.lonely_ends >= MAX_LONELY_ENDS else []

    def forgive(self, task: TaskId) -> None:
        """A task that has failed is started again."""
        record = self._records.get(task)
        if record is not None:
            record.lonely_ends, record.rests_until = 0, 0.0

    def forget(self, task: TaskId) -> None:
        """Forget the deaths of a task's slots."""
        self._records.pop(task, None)

    def rests(self, task: TaskId, now: float) -> bool:
        """Whether a task has to wait before it is placed again."""
        record = self._records.get(task)
        return record is not None and now < record.rests_until

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
