"""Tasks with slots of their own: dedicated ones, suspects, and those of an environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.placement.suspects import MAX_LONELY_ENDS
from runtime.model.environment import Environment
from runtime.model.executor_size import ExecutorSize
from runtime.model.states import TaskId
from tests.support.clock import Clock
from tests.support.engine.engine_recorder import task_spec
from tests.support.engine.roster_slots import add_slot, add_tasks, placed


def test_a_dedicated_task_gets_a_slot_for_itself(roster: Roster) -> None:
    add_slot(roster, 0)
    add_slot(roster, 1)
    task = TaskRun(replace(task_spec("alone"), dedicated=True))
    roster.add(task)
    assert not placed(roster)
    assert roster.extras.numbers == [0, 1, 2]
    add_slot(roster, 2)
    assert placed(roster) == {2: 1}
    add_tasks(roster, 4)
    assert placed(roster) == {0: 2, 1: 2}


def kill_slot(roster: Roster, clock: Clock, slot: int) -> None:
    """Ends a slot; its tasks wait again."""
    link = roster.links.pop(slot)
    tasks = [task.spec.id for task in link.tasks.values()]
    for task in link.tasks.values():
        link.admission.finished(task.key)
    roster.slot_died(link)
    for id_ in tasks:
        roster.add(TaskRun(roster.tasks[id_].spec))
    clock.now += 10.0


def test_a_task_that_kills_several_slots_is_isolated(roster: Roster, clock: Clock) -> None:
    add_slot(roster, 0)
    add_slot(roster, 1)
    add_tasks(roster, 40)
    killer = roster.tasks[next(iter(roster.tasks))]
    deaths = 0
    while True:
        for number in roster.extras.numbers:
            if number not in roster.links:
                add_slot(roster, number)
        list(roster.placements())
        for number in roster.extras.numbers:  # cells requested by this call
            if number not in roster.links:
                add_slot(roster, number)
        list(roster.placements())
        link = roster.tasks[killer.spec.id].link
        assert link is not None
        if len(link.tasks) == 1:
            break
        kill_slot(roster, clock, link.slot)
        deaths += 1
        assert deaths < 8
    assert roster.extras.is_private(link.slot)
    assert deaths >= 2, "one death may be an accident"


def test_tasks_that_are_lost_with_the_driver_are_not_suspected(roster: Roster, clock: Clock) -> None:
    add_slot(roster, 0)
    add_tasks(roster, 1)
    for _ in range(3):
        list(roster.placements())
        kill_slot(roster, clock, 0)
        clock.now -= 9.0
        roster.suspects.driver_ended(clock())
        clock.now += 9.0
        add_slot(roster, 0)
    assert placed(roster) == {0: 1}
    assert roster.extras.numbers == [0, 1]


def test_isolation_is_given_up_if_the_cluster_has_no_core_for_it(roster: Roster, clock: Clock) -> None:
    add_tasks(roster, 1)
    dedicated = TaskRun(replace(task_spec("dedicated"), dedicated=True))
    for _ in range(2):
        add_slot(roster, 0)
        list(roster.placements())
        kill_slot(roster, clock, 0)
    roster.add(dedicated)
    add_slot(roster, 0)
    assert not placed(roster)
    extras = roster.extras.numbers[roster.extras.numbers.index(2) :] if 2 in roster.extras.numbers else []
    assert len(extras) == 2, "one for the suspect, one for the dedicated task"
    roster.slots_without_core(extras)
    assert placed(roster) == {0: 1}
    assert dedicated.waiting
    assert len(roster.extras.numbers) == 3


def test_a_suspect_is_no_longer_isolated_after_a_while(roster: Roster, clock: Clock) -> None:
    tasks = [task_spec("a").id]
    roster.suspects.slot_died(tasks, clock())
    roster.suspects.slot_died(tasks, clock())
    assert roster.suspects.cell(tasks[0], clock()) is not None
    clock.now += 2000.0
    assert roster.suspects.cell(tasks[0], clock()) is None


def _in_environment(environment: str, connector: str, task: int = 0, **more: Any) -> TaskRun:
    spec = replace(task_spec(connector), task=task, environment=Environment(environment), **more)
    return TaskRun(spec)


def test_tasks_of_an_environment_have_slots_of_their_own(roster: Roster) -> None:
    shared = [add_slot(roster, number) for number in (0, 1)]
    for environment in ("one", "two"):
        for task in range(4):
            roster.add(_in_environment(environment, environment, task))
    add_tasks(roster, 4)
    assert placed(roster) == {0: 2, 1: 2}
    assert roster.extras.numbers == [0, 1, 2, 3, 4, 5]  # as many for each environment as are configured
    extra = [add_slot(roster, number) for number in (2, 3, 4, 5)]
    assert placed(roster) == {2: 2, 3: 2, 4: 2, 5: 2}
    for link in extra:
        assert len({task.spec.environment for task in link.tasks.values()}) == 1
    assert all(task.spec.environment is None for link in shared for task in link.tasks.values())


def test_an_isolated_task_of_an_environment_shares_its_slot_with_none(roster: Roster) -> None:
    add_slot(roster, 0)
    roster.add(_in_environment("one", "a", dedicated=True))
    roster.add(_in_environment("one", "b"))
    placed(roster)
    assert roster.extras.numbers == [0, 1, 2, 3]
    add_slot(roster, 2)
    add_slot(roster, 3)
    assert placed(roster) == {2: 1, 3: 1}


def test_at_the_limit_tasks_share_the_slots_of_their_environment_or_wait(clock: Clock) -> None:
    roster = Roster(slots=2, wait=0.0, clock=clock, max_extra_slots=1)
    add_slot(roster, 0)
    add_slot(roster, 1)
    for task in range(2):
        roster.add(_in_environment("one", "a", task))
    roster.add(_in_environment("two", "b"))
    placed(roster)
    add_slot(roster, 2)
    assert placed(roster) == {2: 2}
    assert roster.without_slot == ["two"]


def test_a_full_slot_of_an_environment_fails_the_task(roster: Roster) -> None:
    """The task would return to the same slot again and again."""
    add_slot(roster, 0)
    roster.add(_in_environment("one", "a"))
    placed(roster)
    link = add_slot(roster, roster.extras.numbers[-1])
    assert placed(roster) == {link.slot: 1}
    assert not roster.crowded(link)


def test_the_slot_of_an_unused_environment_is_given_up(roster: Roster, clock: Clock) -> None:
    add_slot(roster, 0)
    roster.add(_in_environment("one", "a"))
    placed(roster)
    assert roster.extras.idle([2], (), clock()) == []
    clock.now += 31
    assert roster.extras.idle([2], (), clock()) == []
    clock.now += 31
    assert roster.extras.idle([], (), clock()) == [2]


def jvm_ends(roster: Roster, link: SlotLink, at_fault: bool = True) -> list[TaskRun]:
    """The JVM of a slot has ended; its tasks are handed back and started again."""
    runs = list(link.tasks.values())
    roster.java_ended(link, [task.key for task in runs], "code 3", at_fault)
    for task in runs:
        link.remove(task)
        task.ended.set()
    again = [TaskRun(replace(task.spec, epoch=task.spec.epoch + 1)) for task in runs if task.condemned is None]
    for task in again:
        roster.add(task)
    return runs


def test_tasks_whose_jvm_ends_twice_are_isolated_from_each_other(roster: Roster, clock: Clock) -> None:
    link = add_slot(roster, 0)
    add_tasks(roster, 3)
    clock.now = 10.0
    assert placed(roster) == {0: 3}
    jvm_ends(roster, link)
    assert placed(roster) == {0: 3}
    jvm_ends(roster, link)
    assert not placed(roster)
    assert roster.extras.numbers == [0, 1, 2, 3, 4]
    for number in (2, 3, 4):
        add_slot(roster, number)
    assert placed(roster) == {2: 1, 3: 1, 4: 1}


def test_a_task_that_ends_its_jvm_alone_rests_and_finally_fails(roster: Roster, clock: Clock) -> None:
    link = add_slot(roster, 0)
    clock.now = 10.0
    add_tasks(roster, 1)
    rests = []
    for _ in range(MAX_LONELY_ENDS - 1):
        assert placed(roster) == {0: 1}
        jvm_ends(roster, link)
        since = clock.now
        while roster.suspects.rests(TaskId("task-0", 0), clock.now):
            assert not placed(roster)
            clock.now += 0.5
        rests.append(clock.now - since)
    assert rests == [0, 1, 2, 4]
    assert placed(roster) == {0: 1}
    (task,) = jvm_ends(roster, link)
    assert task.condemned is not None
    assert "has ended 5 times in a row while only this task used it. The last time: code 3" in task.condemned
    assert roster.extras.numbers == [0, 1], "no slot is requested for a task that harms no other one"


def test_a_jvm_that_is_killed_from_outside_delays_its_task_briefly_and_never_fails_it(
    roster: Roster, clock: Clock
) -> None:
    link = add_slot(roster, 0)
    clock.now = 100.0
    add_tasks(roster, 1)
    rests = []
    for _ in range(2 * MAX_LONELY_ENDS):
        assert placed(roster) == {0: 1}
        assert [task.condemned for task in jvm_ends(roster, link, at_fault=False)] == [None]
        since = clock.now
        while roster.suspects.rests(TaskId("task-0", 0), clock.now):
            clock.now += 0.5
        rests.append(clock.now - since)
    assert rests == [0, 0, 1, 2, 4, 5, 5, 5, 5, 5]


def test_a_dedicated_task_gets_another_slot_with_another_size_of_its_executor(roster: Roster, clock: Clock) -> None:
    add_slot(roster, 0)
    large, larger = ExecutorSize(512, 1), ExecutorSize(1024, 2)
    roster.add(TaskRun(replace(task_spec("a"), dedicated=True, executor=large)))
    assert not placed(roster)
    assert roster.extras.executors == {2: large}
    add_slot(roster, 2)
    assert placed(roster) == {2: 1}
    roster.add(TaskRun(replace(task_spec("a", epoch=2), dedicated=True, executor=larger)))
    roster.add(TaskRun(replace(task_spec("b"), dedicated=True)))
    assert not placed(roster)
    assert roster.extras.executors == {2: large, 3: larger}
