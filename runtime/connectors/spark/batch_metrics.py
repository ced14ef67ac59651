"""Metrics of the batches of a task, which appear with those of its connector in `GET /metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class BatchMetric(NamedTuple):
    """A metric as plugins register it (KIP-877)."""

    name: str
    description: str
    tags: Mapping[str, str]
    value: float


class BatchMetrics:
    """Counts batches that Spark has written or read. `metrics_changed` is set by the worker."""

    def __init__(self) -> None:
        self.metrics: Sequence[BatchMetric] = ()
        self.metrics_changed: Callable[[], None] | None = None
        self._batches = self._rows = 0

    def count(self, rows: int, seconds: float) -> None:
        """A batch of so many rows has ended, for which Spark needed this time."""
        self._batches, self._rows = self._batches + 1, self._rows + rows
        self.metrics = (
            BatchMetric("spark-batches", "Batches since the start of the task.", {}, self._batches),
            BatchMetric("spark-rows", "Rows of these batches.", {}, self._rows),
            BatchMetric("spark-last-batch-rows", "Rows of the last batch.", {}, rows),
            BatchMetric("spark-last-batch-seconds", "Time that Spark needed for the last batch.", {}, seconds),
        )
        if self.metrics_changed is not None:
            self.metrics_changed()
