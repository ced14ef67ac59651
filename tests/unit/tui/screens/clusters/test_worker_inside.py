"""The metrics of a worker as text."""

from __future__ import annotations

from tui.metrics.rate_history import STEP, RateHistory
from tui.metrics.worker_metrics import WorkerMetrics
from tui.screens.base.curves import Plots
from tui.screens.clusters.worker_inside import described

LINES = Plots(20, 1)


def test_a_single_record_is_counted_in_the_singular() -> None:
    text = described(WorkerMetrics({0: 1}, 1.0, 1, 1, 0, 1), RateHistory(), LINES, 0.0).plain
    assert "1 record written, 1 task restarted, 1 record failed" in text
    assert "memory" not in text


def test_slots_without_a_core_and_the_memory_of_java_plugins_are_shown() -> None:
    known = WorkerMetrics(
        {0: 1, 1: 0}, memory={0: 150_400_000, 1: 90_000_000}, java_memory={0: 33_000_000}, without_core=2
    )
    lines = described(known, RateHistory(), LINES, 0.0).plain.splitlines()
    assert lines[0] == "slots      2 up, 2 wait for a core, 1 task  by slot 0: 1  1: 0"
    assert lines[1] == "memory     240 MB, JVMs of Java plugins 33 MB  by slot 0: 150  1: 90"


def test_curves_are_plots_with_a_scale_where_there_is_room() -> None:
    history = RateHistory()
    for step in range(10):
        history.add(step * STEP, 100.0 * step, 60, sampled=True)
    known = WorkerMetrics({0: 1})
    in_lines, plots = (described(known, history, size, 9 * STEP).plain for size in (LINES, Plots(40, 4)))
    assert in_lines.count("\n") == 3 and "throughput ·" in in_lines
    assert "throughput 20 records/s" in plots and "lag 60 records" in plots and "└" in plots
