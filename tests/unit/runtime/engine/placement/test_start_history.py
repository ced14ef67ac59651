"""Slots that die while starting tasks get fewer of them, for a while."""

from __future__ import annotations

from runtime.engine.placement.start_history import FORGET_AFTER, StartHistory


def test_a_slot_that_keeps_dying_while_it_starts_tasks_gets_fewer_of_them() -> None:
    history = StartHistory()
    assert history.of(0, 0.0)[1] == float("inf")
    history.slot_died(0, starting=3, tasks=100, now=0.0)
    assert history.of(0, 0.0)[1] == float("inf"), "one death may be an accident"
    history.slot_died(0, starting=3, tasks=100, now=0.0)
    admission, most = history.of(0, 10.0)
    assert (admission.window, most) == (1.0, 50)
    assert not admission.is_open(10.0)
    assert admission.is_open(12.0)
    assert history.of(1, 0.0)[1] == float("inf"), "other slots are not affected"


def test_a_slot_that_dies_when_all_its_tasks_run_is_not_held_back() -> None:
    history = StartHistory()
    for starting in (3, 3, 0):
        history.slot_died(0, starting, tasks=100, now=0.0)
    assert history.of(0, 0.0)[1] == float("inf")


def test_a_slot_recovers_some_time_after_its_last_death() -> None:
    history = StartHistory()
    for number in range(5):
        history.slot_died(0, starting=3, tasks=100, now=float(number))
    assert history.of(0, 4.0 + FORGET_AFTER)[1] == 50
    admission, most = history.of(0, 4.1 + FORGET_AFTER)
    assert most == float("inf")
    assert admission.is_open(4.1 + FORGET_AFTER)
    history.slot_died(0, starting=3, tasks=100, now=5.0 + FORGET_AFTER)
    assert history.of(0, 5.0 + FORGET_AFTER)[1] == float("inf"), "counted from the beginning"


def test_any_number_of_deaths_has_a_finite_pause() -> None:
    history = StartHistory()
    for _ in range(5000):
        history.slot_died(0, starting=1, tasks=1, now=0.0)
    admission, _ = history.of(0, 0.0)
    assert admission.is_open(10.0)
