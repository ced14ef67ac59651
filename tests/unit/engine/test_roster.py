from __future__ import annotations

from collections import Counter
from unittest.mock import Mock

import pytest

from runtime.engine.roster import Link, Roster, Task
from tests.support.engine_probe import task_spec


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def roster(clock: Clock) -> Roster:
    return Roster(slots=2, wait=3.0, clock=clock)


def add_slot(roster: Roster, slot: int) -> Link:
    link = roster.links[slot] = Link(slot, 1, 1, 1000 + slot, "host", Mock(), 0.0, leased=True)
    return link


def add_tasks(roster: Roster, count: int) -> None:
    for number in range(len(roster.tasks), len(roster.tasks) + count):
        task = Task(task_spec(f"task-{number}"))
        roster.tasks[task.spec.id] = task


def placed(roster: Roster) -> Counter[int]:
    return Counter(link.slot for _, link in roster.placements())


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


def test_the_first_slot_takes_its_share_and_leaves_the_rest_to_those_about_to_come(roster: Roster) -> None:
    roster.missing_slot()
    add_slot(roster, 0)
    add_tasks(roster, 5)
    assert placed(roster) == {0: 3}
    add_slot(roster, 1)
    assert placed(roster) == {1: 2}


def test_a_slot_that_does_not_come_is_not_waited_for_too_long(roster: Roster, clock: Clock) -> None:
    roster.missing_slot()
    add_slot(roster, 0)
    add_tasks(roster, 4)
    assert placed(roster) == {0: 2}
    clock.now = 3.0
    assert placed(roster) == {0: 2}


def test_a_slot_with_a_thread_that_goes_on_is_avoided(roster: Roster) -> None:
    leaky = add_slot(roster, 0)
    leaked = Task(task_spec("leaked"), link=leaky, revoked_at=1.0)
    leaky.tasks[leaked.key] = leaked
    add_slot(roster, 1)
    add_tasks(roster, 3)
    assert placed(roster) == {1: 3}


def test_a_slot_is_stuck_when_nothing_but_revoked_threads_runs_there(roster: Roster) -> None:
    link = add_slot(roster, 0)
    assert not link.stuck(since=10.0)
    leaked = Task(task_spec("leaked"), link=link, revoked_at=8.0)
    link.tasks[leaked.key] = leaked
    assert link.stuck(since=10.0)
    assert not link.stuck(since=7.0), "it may still be ending"
    sound = Task(task_spec("sound"), link=link)
    link.tasks[sound.key] = sound
    assert not link.stuck(since=10.0)
