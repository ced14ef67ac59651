"""The metrics of a worker as text."""

from __future__ import annotations

from tui.metrics.rate_history import RateHistory
from tui.metrics.worker_metrics import WorkerMetrics
from tui.screens.clusters.worker_inside import described


def test_a_single_record_is_counted_in_the_singular() -> None:
    text = described(WorkerMetrics({0: 1}, 1.0, 1, 1, 0, 1), RateHistory(), 20, 0.0).plain
    assert "1 record written, 1 task restarted, 1 record failed" in text
    assert "memory" not in text


def test_slots_without_a_core_and_the_memory_of_java_plugins_are_shown() -> None:
    known = WorkerMetrics(
        {0: 1, 1: 0}, memory={0: 150_400_000, 1: 90_000_000}, java_memory={0: 33_000_000}, without_core=2
    )
    lines = described(known, RateHistory(), 20, 0.0).plain.splitlines()
    assert lines[0] == "slots    2 up, 2 wait for a core, 1 task  by slot 0: 1  1: 0"
    assert lines[1] == "memory   240 MB, JVMs of Java plugins 33 MB  by slot 0: 150  1: 90"
