"""Slots and tasks of a roster."""

from __future__ import annotations

from collections import Counter

from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from tests.support.engine.engine_recorder import slot_link, task_spec


def add_slot(roster: Roster, slot: int) -> SlotLink:
    """Adds a slot that is fast enough to start any number of tasks at once."""
    link = slot_link(slot)
    roster.link_up(link)
    link.admission.window = 1000.0
    return link


def add_tasks(roster: Roster, count: int) -> None:
    for number in range(len(roster.tasks), len(roster.tasks) + count):
        task = TaskRun(task_spec(f"task-{number}"))
        roster.add(task)


def placed(roster: Roster) -> Counter[int]:
    return Counter(link.slot for _, link in roster.placements())
