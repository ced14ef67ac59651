"""The choice of a slot for the next task."""

from __future__ import annotations

import math

from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.protocol.descriptors import needed


class FreeRoom:
    """Free room in shared slots while tasks are being placed."""

    def __init__(self, links: list[SlotLink], share: float, more_to_come: bool, now: float) -> None:
        """`share`: the most tasks of a slot, while other slots are expected."""
        self.links, self._share, self._more_to_come, self._now = links, share, more_to_come, now
        self.is_closed = False
        """Whether the last task found room, but no slot that may start another task now."""
        self.crowded_out = 0
        """File descriptors of the tasks for which there is no room, although no slot is expected soon."""

    def least_loaded(self, task: TaskRun) -> SlotLink | None:
        """The slot for a task, apart from other tasks of its connector if possible; None if the task should wait."""
        self.is_closed = False
        needs, connector = needed(task.spec), task.spec.connector

        def load(link: SlotLink) -> tuple[int, ...]:
            return link.leaks, is_full(link, needs), link.connectors[connector], len(link.tasks), link.slot

        links = [link for link in self.links if len(link.tasks) < min(link.max_tasks, self._share)]
        if not links:
            self._no_room(needs, is_closed=not self.links or self._share < math.inf)
            return None
        best = min([link for link in links if link.admission.responds(self._now)] or links, key=load)
        if self._more_to_come and is_full(best, needs):
            self._no_room(needs, is_closed=False)
            return None
        if best.admission.is_open(self._now):
            return best
        self.is_closed = True
        return None

    def _no_room(self, needs: int, is_closed: bool) -> None:
        self.is_closed = is_closed
        if self._share == math.inf and not is_closed:
            self.crowded_out += needs


def is_full(link: SlotLink, needs: int) -> bool:
    """Whether the slot has no room for a task that needs this many file descriptors."""
    return link.taken + needs > link.room
