"""The metrics of a worker as text."""

from __future__ import annotations

from tui.metrics.rate_history import RateHistory
from tui.metrics.worker_metrics import WorkerMetrics
from tui.screens.clusters.worker_inside import described


def test_a_single_record_is_counted_in_the_singular() -> None:
    text = described(WorkerMetrics({0: 1}, 1.0, 1, 1, 0, 1), RateHistory(), 20, 0.0).plain
    assert "1 record written, 1 task restarted, 1 record failed" in text
