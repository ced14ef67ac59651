"""The measured loads of tasks."""

from __future__ import annotations

import time

from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.status.meter_board import MeterBoard
from runtime.model.states import TaskId


def test_the_time_spent_in_batches_is_the_load() -> None:
    meters = MeterBoard()
    loads = TaskLoads(meters)
    for task in (0, 1):
        meters.report(TaskId("orders", task), 1, {"batch_ms": 1000.0})
    loads.measure()
    assert loads.now == {}, "the first report has nothing to compare with"
    start = time.monotonic()
    while time.monotonic() - start < 0.05:
        pass
    meters.report(TaskId("orders", 0), 1, {"batch_ms": 1000.0 + 60_000.0})
    loads.measure()
    assert loads.total == 1.0
    assert loads.now == {"orders": {"0": 1.0}}, "a task is one thread, which uses at most one core"
    loads.measure()
    assert loads.now == {}


def test_only_a_lasting_load_counts_for_the_balance() -> None:
    """A task that has just started is busy with its start: by that load, half of a group's tasks stayed on one of three
    workers (testMultipleWorkersRejoining of Apache's suite)."""
    meters, busy = MeterBoard(), {0: 0.0, 1: 0.0, 2: 0.0}
    loads = TaskLoads(meters)

    def measured(*shares: float) -> None:
        loads._measured_at -= 10.0
        for task, share in enumerate(shares):
            busy[task] += share * 10_000
            meters.report(TaskId("orders", task), 1, {"batch_ms": busy[task]})
        loads.measure()

    measured(0.0, 0.0)
    measured(1.0, 1.0)
    measured(0.5, 1.0)
    assert loads.now == {"orders": {"0": 0.5, "1": 1.0}} and loads.lasting == {}
    measured(0.5, 1.0, 0.0)
    assert loads.lasting == {"orders": {"0": 0.5, "1": 1.0}}
    measured(0.0, 0.75, 1.0)
    assert loads.lasting == {"orders": {"1": 0.75}}
