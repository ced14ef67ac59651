"""Slots that wait for a core of the cluster, and the tasks that cannot start before those slots."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from runtime.engine.placement.roster import Roster, TaskRun

_log = logging.getLogger(__name__)

CORE_WAIT = 10.0
"""Seconds for which a slot waits for a core before that is reported: executors may be starting."""

_REMEDY = "Add executors or cores (spark.cores.max, spark.dynamicAllocation.enabled), or lower headrace.slots"


class CoreWaits:
    """Event loop only. `report` gets each task that waits with such a slot, once, with the reason; None when it no
    longer waits for a core."""

    def __init__(
        self, roster: Roster, master: str, clock: Callable[[], float], report: Callable[[TaskRun, str | None], None]
    ) -> None:
        self._roster, self._master, self._clock, self._report = roster, master, clock, report
        self._since: dict[int, float] = {}
        self._logged: set[int] = set()
        self._tasks: list[TaskRun] = []  # that have been reported

    @property
    def slots(self) -> Sequence[int]:
        """The slots that have waited for CORE_WAIT."""
        now, links = self._clock(), self._roster.links
        wanted = [slot for slot in self._since if slot not in links and self._roster.extras.is_wanted(slot)]
        return sorted(slot for slot in wanted if now - self._since[slot] >= CORE_WAIT)

    def changed(self, waiting: Sequence[int]) -> Sequence[int]:
        """Spark has no core for these slots, and for no others. Returns the slots that had not been waiting before."""
        new, now = sorted({*waiting} - {*self._since}), self._clock()
        self._since = {slot: self._since.get(slot, now) for slot in waiting}
        return new

    def check(self) -> None:
        """Log slots that have waited for long, and report their tasks."""
        slots = self.slots
        if new := [slot for slot in slots if slot not in self._logged]:
            text = "Slot(s) %s wait for a core: no executor of %s has a free one. %s"
            _log.warning(text, _list(new), self._master, _REMEDY)
        self._logged = {*slots}
        tasks = self._roster.waiting_for(slots) if slots else []
        known, current = {id(task) for task in self._tasks}, {id(task) for task in tasks}
        for task in self._tasks:
            if id(task) not in current and task.waiting and self._roster.tasks.get(task.spec.id) is task:
                self._report(task, None)
        reason = f"Waiting for a core: slot(s) {_list(slots)} have none on {self._master}. {_REMEDY}"
        for task in tasks:
            if id(task) not in known:
                self._report(task, reason)
        self._tasks = tasks


def _list(slots: Sequence[int]) -> str:
    return ", ".join(map(str, slots))
