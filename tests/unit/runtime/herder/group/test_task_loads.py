"""The measured loads of tasks."""

from __future__ import annotations

from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.status.meter_board import MeterBoard
from runtime.model.states import TaskId


class Measured:
    """Loads that are measured every ten seconds."""

    def __init__(self) -> None:
        self.now, self.meters, self.busy = 0.0, MeterBoard(), dict.fromkeys(range(3), 0.0)
        self.loads = TaskLoads(self.meters, lambda: self.now)

    def pass_interval(self, *shares: float) -> None:
        """The tasks have been busy for these shares of the last ten seconds."""
        self.now += 10.0
        for task, share in enumerate(shares):
            self.busy[task] += share * 10_000
            self.meters.report(TaskId("orders", task), 1, {"batch_ms": self.busy[task]})
        self.loads.measure()


def test_the_time_spent_in_batches_is_the_load() -> None:
    measured = Measured()
    loads = measured.loads
    measured.pass_interval(0.1, 0.1)
    assert loads.now == {}, "the first report has nothing to compare with"
    measured.pass_interval(6.0, 0.0)
    assert loads.total == 1.0
    assert loads.now == {"orders": {"0": 1.0}}, "a task is one thread, which uses at most one core"
    measured.pass_interval()
    assert loads.now == {}


def test_only_a_lasting_load_counts_for_the_balance() -> None:
    """A task that has just started is busy with its start: by that load, half of a group's tasks stayed on one of three
    workers (testMultipleWorkersRejoining of Apache's suite)."""
    measured = Measured()
    loads = measured.loads
    measured.pass_interval(0.0, 0.0)
    measured.pass_interval(1.0, 1.0)
    measured.pass_interval(0.5, 1.0)
    assert loads.now == {"orders": {"0": 0.5, "1": 1.0}} and loads.lasting == {}
    measured.pass_interval(0.5, 1.0, 0.0)
    assert loads.lasting == {"orders": {"0": 0.5, "1": 1.0}}
    measured.pass_interval(0.0, 0.75, 1.0)
    assert loads.lasting == {"orders": {"1": 0.75}}
