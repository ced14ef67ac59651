"""The choice of a slot for each task, and the requests for extra slots."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from runtime.engine.placement.admission import Admission
from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import TaskRun
from runtime.model.states import TaskId
from runtime.system.scheduling import Delay
from tests.support.clock import Clock
from tests.support.engine.engine_recorder import task_spec
from tests.support.engine.roster_slots import add_slot, add_tasks, placed


def test_tasks_wait_for_a_slot_with_a_lease(roster: Roster) -> None:
    add_tasks(roster, 1)
    assert not placed(roster)
    add_slot(roster, 0).leased = False
    assert not placed(roster)


def test_tasks_go_to_the_least_loaded_slot_once(roster: Roster) -> None:
    add_slot(roster, 0)
    add_slot(roster, 1)
    add_tasks(roster, 6)
    assert placed(roster) == {0: 3, 1: 3}
    assert not placed(roster)


def test_tasks_of_one_connector_go_to_different_slots(roster: Roster) -> None:
    """Also if other connectors have loaded one slot more."""
    add_slot(roster, 0)
    add_tasks(roster, 3)
    assert placed(roster) == {0: 3}
    add_slot(roster, 1)
    for number in (0, 1):
        task = TaskRun(replace(task_spec("pair"), task=number))
        roster.add(task)
    assert placed(roster) == {0: 1, 1: 1}


def test_the_first_slot_leaves_a_fair_share_for_slots_that_are_starting(roster: Roster) -> None:
    roster.missing_slot()
    add_slot(roster, 0)
    add_tasks(roster, 5)
    assert placed(roster) == {0: 3}
    add_slot(roster, 1)
    assert placed(roster) == {1: 2}


def test_tasks_wait_only_a_limited_time_for_a_missing_slot(roster: Roster, clock: Clock) -> None:
    roster.missing_slot()
    add_slot(roster, 0)
    add_tasks(roster, 4)
    assert placed(roster) == {0: 2}
    clock.now = 3.0
    assert placed(roster) == {0: 2}


def test_a_slot_with_a_revoked_task_that_does_not_end_is_avoided(roster: Roster) -> None:
    leaky = add_slot(roster, 0)
    leaked = TaskRun(task_spec("leaked"))
    leaky.add(leaked)
    leaky.revoked(leaked, 1.0)
    add_slot(roster, 1)
    add_tasks(roster, 3)
    assert placed(roster) == {1: 3}


def test_a_slot_with_only_revoked_tasks_is_stuck(roster: Roster) -> None:
    link = add_slot(roster, 0)
    assert not link.stuck(since=10.0)
    leaked = TaskRun(task_spec("leaked"))
    link.add(leaked)
    link.revoked(leaked, 8.0)
    assert link.stuck(since=10.0)
    assert not link.stuck(since=7.0), "the slot may still be ending"
    sound = TaskRun(task_spec("sound"))
    link.add(sound)
    assert not link.stuck(since=10.0)


def add_sinks(roster: Roster, count: int) -> None:
    for number in range(count):
        task = TaskRun(replace(task_spec(f"sink-{number}"), type="sink"))
        roster.add(task)


def test_tasks_without_room_request_as_many_slots_as_they_need(roster: Roster) -> None:
    for slot in (0, 1):
        add_slot(roster, slot).room = 100
    add_sinks(roster, 45)
    assert placed(roster) == {0: 10, 1: 10}
    assert roster.extras.numbers == [0, 1, 2, 3, 4]
    assert not placed(roster)
    assert roster.extras.numbers == [0, 1, 2, 3, 4], "the requested slots are enough"
    for slot in (2, 3, 4):
        add_slot(roster, slot).room = 100
    assert placed(roster) == {2: 9, 3: 8, 4: 8}


def test_without_further_slots_tasks_are_placed_on_full_ones(clock: Clock) -> None:
    roster = Roster(slots=1, wait=3.0, clock=clock)
    add_slot(roster, 0).room = 20
    add_sinks(roster, 3)
    assert placed(roster) == {0: 3}


def test_a_slot_that_reports_that_it_is_full_gets_no_more_tasks(roster: Roster) -> None:
    full = add_slot(roster, 0)
    add_tasks(roster, 2)
    assert placed(roster) == {0: 2}
    assert roster.crowded(full)
    add_slot(roster, 1)
    add_tasks(roster, 4)
    assert placed(roster) == {1: 4}


def test_an_extra_slot_is_kept_for_a_while_after_its_last_task(roster: Roster, clock: Clock) -> None:
    number = roster.extras.add("cell", clock())
    clock.now = 100.0
    assert roster.extras.idle([2], (), clock()) == []
    clock.now = 129.0
    assert roster.extras.idle([], (), clock()) == []
    clock.now = 131.0
    assert roster.extras.idle([], (), clock()) == [number]


def test_slots_for_many_tasks_are_requested_before_any_slot_is_up(clock: Clock) -> None:
    roster = Roster(slots=2, wait=3.0, clock=clock, max_extra_slots=8, expected_room=10)
    for number in range(7):
        task = TaskRun(replace(task_spec(f"sink-{number}"), type="sink"))
        roster.add(task)
    assert not placed(roster)
    assert len(roster.extras.numbers) == 7
    assert not placed(roster)
    assert len(roster.extras.numbers) == 7, "checked again"


def test_no_extra_slot_is_requested_for_tasks_that_fit(clock: Clock) -> None:
    roster = Roster(slots=2, wait=3.0, clock=clock, max_extra_slots=8, expected_room=1000)
    add_tasks(roster, 50)
    assert not placed(roster)
    assert len(roster.extras.numbers) == 2


def test_a_slot_starts_few_tasks_at_once_and_the_rest_one_after_another(roster: Roster) -> None:
    link = add_slot(roster, 0)
    link.admission.window = 2.0
    add_tasks(roster, 5)
    first = [task for task, _ in roster.placements()]
    assert len(first) == 2
    assert not placed(roster)
    link.admission.finished(first[0].key)
    assert placed(roster) == {0: 1}


def test_a_slot_that_died_while_starting_tasks_gets_fewer_after_a_pause(roster: Roster, clock: Clock) -> None:
    add_slot(roster, 0)
    add_tasks(roster, 40)
    for _ in range(2):
        list(roster.placements())
        link = roster.links.pop(0)
        roster.starts.slot_died(0, link.admission.starting, len(link.tasks), clock())
        for task in link.tasks.values():
            roster.add(TaskRun(task.spec))
        add_slot(roster, 0)
        assert not placed(roster), "the slot gets tasks again only after a pause"
        clock.now += 5.0
    assert placed(roster) == {0: 20}
    roster.links[0].max_tasks = float("inf")
    assert placed(roster) == {0: 20}


def test_a_slot_that_does_not_answer_neither_gets_tasks_nor_makes_them_wait(roster: Roster) -> None:
    silent = add_slot(roster, 0)
    silent.admission.window, silent.silence = 0.0, Delay([os.getpid()])
    add_slot(roster, 1)
    add_tasks(roster, 3)
    assert placed(roster) == {1: 3}
    roster.links.pop(1)
    add_tasks(roster, 1)
    assert not placed(roster)
    assert roster.extras.numbers == [0, 1], "the slot may answer again"


@pytest.mark.parametrize("reason", ["pause", "silence"])
def test_a_slot_that_starts_nothing_now_does_not_delay_tasks_for_other_slots(
    roster: Roster, clock: Clock, reason: str
) -> None:
    """Even if this slot has the fewest tasks."""
    busy = add_slot(roster, 1)
    add_tasks(roster, 1)
    for task, _ in list(roster.placements()):
        busy.admission.finished(task.key)
    idle = add_slot(roster, 0)
    if reason == "pause":
        idle.admission = Admission(not_before=clock.now + 8.0)
    else:
        idle.admission.window = 1.0
        idle.admission.sent((TaskId("unread", 0), 1), clock.now)
        clock.now += 2.0
    add_tasks(roster, 2)
    assert placed(roster) == {1: 2}


def test_no_task_is_placed_on_a_slot_that_is_ending(roster: Roster) -> None:
    leaving = add_slot(roster, 0)
    add_slot(roster, 1)
    leaving.leave()
    add_tasks(roster, 4)
    assert placed(roster) == {1: 4}


def test_an_idle_extra_slot_that_is_ending_takes_no_shared_tasks(roster: Roster, clock: Clock) -> None:
    """The slot is no longer reserved, but its process has not ended yet."""
    number = roster.extras.add("cell", clock())
    assert number is not None
    extra = add_slot(roster, number)
    roster.extras.remove(number)
    extra.leave()
    add_tasks(roster, 2)
    assert not placed(roster)


@pytest.mark.parametrize("dedicated", [True, False])
def test_waiting_tasks_behind_a_busy_slot_are_not_scanned_each_time(
    roster: Roster, clock: Clock, dedicated: bool
) -> None:
    """A thousand tasks wait for slots that start a few at once, also if some tasks need dedicated slots."""
    for slot in (0, 1):
        add_slot(roster, slot).admission.window = 1.0
    if dedicated:
        roster.add(TaskRun(replace(task_spec("alone"), dedicated=True)))
    else:
        roster.suspects.slot_died([TaskId("x", 0)], clock())
    roster.tasks = looked_at = CountingTasks(roster.tasks)
    add_tasks(roster, 1000)
    assert sum(placed(roster).values()) == 2
    looked_at.count = 0
    assert not placed(roster)
    assert looked_at.count <= 10


class CountingTasks(dict[TaskId, TaskRun]):
    """Counts the tasks that are looked up."""

    count = 0

    def get(self, *args: Any) -> Any:
        self.count += 1
        return super().get(*args)
