"""Periodic checks of slots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.slot_watch import MAX_REPORTED, MAX_SILENCE_LEASES, SlotWatch
from runtime.system.scheduling import Delay, waits
from tests.support.clock import Clock
from tests.support.control_groups import Files
from tests.support.engine.engine_recorder import slot_link, task_spec
from tests.support.engine.starvation import Starved

TTL = 6.0


def silence_at_death(share: float) -> tuple[float, bool]:
    """Seconds until a silent slot that waits for a processor for this part of the time is given up, and whether the
    slot counts as starved."""
    clock = Clock()
    roster = Roster(slots=1, wait=3.0, clock=clock)
    link = slot_link()
    roster.link_up(link)
    watch = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL), clock)
    while True:
        clock.now += 0.5
        for silent in watch.fallen_silent():
            silent.silence = Starved([os.getpid()], clock, share)
        for _, silence in watch.dead():
            return silence, link.starved


def test_a_silent_slot_with_enough_processor_time_is_given_up_soon() -> None:
    silence, starved = silence_at_death(0.0)
    assert TTL < silence <= TTL * 1.5
    assert not starved


def test_a_silent_slot_with_little_processor_time_is_given_up_later() -> None:
    silence, starved = silence_at_death(0.95)
    assert TTL * 3 < silence <= TTL * MAX_SILENCE_LEASES + 0.5
    assert starved


def test_a_slot_that_answers_again_is_no_longer_silent() -> None:
    clock = Clock()
    roster = Roster(slots=1, wait=3.0, clock=clock)
    link = slot_link()
    roster.link_up(link)
    watch = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL), clock)
    clock.now = TTL + 0.1
    assert list(watch.fallen_silent()) == [link]
    assert list(watch.fallen_silent()) == [], "its stack is requested once"
    assert list(watch.responding_again()) == []
    link.heard = clock.now
    assert list(watch.responding_again()) == [link]
    assert list(watch.fallen_silent()) == []
    clock.now = TTL * 2
    assert list(watch.dead()) == []


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count scheduling delays")
def test_the_kernel_counts_the_delay_of_each_thread() -> None:
    assert os.getpid() in waits(os.getpid())
    assert Delay([os.getpid()]).look() >= 0.0


def test_tasks_that_wait_for_long_are_logged_periodically(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    roster = Roster(slots=1, wait=0.0, clock=clock)
    link = slot_link()
    roster.link_up(link)
    link.max_tasks, link.admission.window = 2, 10.0
    for number in range(5):
        roster.add(TaskRun(task_spec(f"task-{number}")))
    list(roster.placements())
    watch = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL), clock)
    for _ in range(50):
        clock.now += 1.0
        watch.check_waiting()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[0].startswith("3 tasks are waiting to be started, 2 are running: ")
    link.max_tasks = 5
    list(roster.placements())
    for _ in range(50):
        clock.now += 1.0
        watch.check_waiting()
    assert len(caplog.records) == 2, "no task is waiting"


def test_many_waiting_tasks_are_reported_in_parts() -> None:
    clock = Clock()
    roster = Roster(slots=1, wait=0.0, clock=clock)
    roster.link_up(link := slot_link())
    link.max_tasks, number = 0, 2 * MAX_REPORTED + 1
    for i in range(number):
        roster.add(TaskRun(task_spec(f"task-{i}")))
    watch, reports = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL), clock), []
    for _ in range(60):
        clock.now += 1.0
        reports.append([task.spec.id for task in watch.check_waiting()])
    assert max(map(len, reports)) == MAX_REPORTED
    assert len({task for report in reports for task in report}) == sum(map(len, reports)) == number


def test_the_limit_of_a_slot_is_lifted_although_a_start_hangs() -> None:
    clock = Clock()
    roster = Roster(slots=1, wait=0.0, clock=clock)
    link = slot_link()
    roster.link_up(link)
    link.max_tasks = 10.0
    hanging = task_spec("hangs")
    link.admission.sent((hanging.id, hanging.epoch), clock.now)
    link.admission.acknowledged((hanging.id, hanging.epoch), clock.now)
    watch = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL), clock)
    watch.lift_limits()
    assert link.max_tasks == 10.0, "the slot is starting a task"
    clock.now += 2.0
    watch.lift_limits()
    assert link.max_tasks > 10.0


def test_a_slot_that_does_not_connect_is_named_after_longer_and_longer_times() -> None:
    clock = Clock()
    roster = Roster(slots=2, wait=3.0, clock=clock)
    roster.link_up(slot_link(0))
    watch = SlotWatch(roster, EngineSettings(slots=2, slot_start_timeout=10.0), clock)
    found = []
    for second in range(100):
        clock.now = float(second)
        found += [(second, slot) for slot in watch.not_connecting(spark_runs=second >= 20)]
    assert found == [(31, 1), (52, 1), (93, 1)]
    roster.link_up(slot_link(1))
    clock.now = 100.0
    assert not watch.not_connecting(spark_runs=True)


def test_only_the_jvm_of_a_slot_is_ended_if_the_slot_is_too_large_because_of_it() -> None:
    clock, link = Clock(), slot_link()
    roster = Roster(slots=1, wait=3.0, clock=clock)
    roster.link_up(link)
    watch = SlotWatch(roster, EngineSettings(slots=1, lease_ttl=TTL, slot_memory=300), clock)
    assert not watch.too_large()
    link.memory, link.java_memory = 301, 250
    assert watch.too_large() == [(link, "more than headrace.slot.memory.mb")]
    assert watch.has_large_jvm(link)
    link.memory, link.java_memory = 601, 300
    assert not watch.has_large_jvm(link)
    link.memory, link.java_memory = 301, 0
    assert not watch.has_large_jvm(link)


def _watch_under_limit(folder: Path, used: int, *links: SlotLink) -> SlotWatch:
    """A watch of slots in a control group with a limit of 1000 MB, of which so many are used."""
    clock = Clock()
    roster = Roster(slots=2, wait=3.0, clock=clock)
    for link in links:
        roster.link_up(link)
    group = Files(folder).version_2(memory__max=str(1000 << 20), memory__current=str(used << 20))
    return SlotWatch(roster, EngineSettings(slots=2, lease_ttl=TTL), clock, group)


def test_the_largest_slot_is_too_large_when_the_memory_limit_is_nearly_reached(tmp_path: Path) -> None:
    small, large = slot_link(0), slot_link(1)
    small.memory, large.memory = 100 << 20, 400 << 20
    watch = _watch_under_limit(tmp_path, 920, small, large)
    assert watch.too_large() == [(large, "and the memory limit of this worker, 1000 MB, is nearly reached")]
    assert not watch.has_large_jvm(large)
    large.java_memory = 300 << 20
    assert watch.has_large_jvm(large)


@pytest.mark.parametrize(("used", "slot"), [(890, 400), (920, 200)])
def test_no_slot_is_too_large_with_memory_left_or_if_its_end_would_not_help(
    tmp_path: Path, used: int, slot: int
) -> None:
    link = slot_link()
    link.memory = slot << 20
    assert not _watch_under_limit(tmp_path, used, link).too_large()
