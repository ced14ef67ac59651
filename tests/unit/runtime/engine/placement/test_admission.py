"""The number of tasks that a slot starts at once, by how fast it answers."""

from __future__ import annotations

import pytest

from runtime.engine.placement.admission import FIRST_WINDOW, HANG_TIMEOUT, MAX_WINDOW, QUICK_ACK, Admission
from runtime.engine.protocol.task_specs import Key
from runtime.model.states import TaskId


def key(number: int) -> Key:
    return TaskId("connector", number), 1


def start(admission: Admission, number: int, at: float, took: float) -> None:
    """Sends a task, which is acknowledged and started `took` seconds later."""
    admission.sent(key(number), at)
    admission.acknowledged(key(number), at + took)
    admission.finished(key(number))


def test_a_new_slot_starts_a_few_tasks_at_once() -> None:
    admission = Admission()
    for number in range(int(FIRST_WINDOW)):
        assert admission.is_open(0.0)
        admission.sent(key(number), 0.0)
    assert not admission.is_open(0.0)


def test_a_quick_slot_starts_more_tasks_at_once_up_to_a_limit() -> None:
    admission = Admission()
    for number in range(100):
        start(admission, number, float(number), QUICK_ACK / 2)
    assert admission.window == MAX_WINDOW


def test_a_slow_slot_starts_fewer_tasks_at_once_but_at_least_one() -> None:
    admission = Admission()
    for number in range(20):
        start(admission, number, float(number), QUICK_ACK * 5)
    assert admission.window == 1.0
    assert admission.is_open(100.0)


@pytest.mark.parametrize("acknowledged", [True, False])
def test_a_hanging_start_stops_counting_only_if_the_slot_acknowledged_it(acknowledged: bool) -> None:
    admission = Admission(first=1.0)
    admission.sent(key(0), 0.0)
    if acknowledged:
        admission.acknowledged(key(0), QUICK_ACK * 2)  # the window is not enlarged
    assert not admission.is_open(HANG_TIMEOUT)
    assert admission.is_open(HANG_TIMEOUT + 0.1) is acknowledged
