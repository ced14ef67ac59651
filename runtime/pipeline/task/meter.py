"""Counts of a task's work: written by the task's thread, with a few additions per batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.pipeline.task.plugin_metrics import MetricsOwner, MetricsOwners, plugin_metrics

FALLBACKS = ("predicate", "transformation", "converter")
"""The plugins whose exception may make a batch fall back to processing record by record."""

LAG_INTERVAL = 1.0
"""Seconds between two measurements of a sink's lag."""


@dataclass(slots=True)
class Meter:
    """Counts of one run of a task; other threads read them. `changes` rises with every count."""

    read: int = 0  # records: polled from the source, or fetched from Kafka
    written: int = 0  # records: acknowledged by Kafka, or put
    batches: int = 0  # polls that returned records; puts
    batch_ms: float = 0.0  # total time
    longest_ms: float = 0.0
    throttled_ms: float = 0.0  # time for which the rate limit has delayed the task
    commits: int = 0
    commit_failures: int = 0
    transactions: int = 0  # committed by an exactly-once source
    transaction_records: int = 0  # records in them
    smallest_transaction: int | None = None  # records; None before the first transaction
    largest_transaction: int = 0
    partitions: int = 0  # of a sink
    lag: int | None = None  # records until the ends of a sink's partitions; None: unknown
    record_time: int = -1  # of the newest record that was put, in milliseconds since 1970
    progress_at: int = -1  # time of the last write, in milliseconds since 1970
    active: int = 0  # records that are read and not yet written
    fallbacks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FALLBACKS, 0))  # batches, by plugin
    plugins: list[tuple[Mapping[str, str], MetricsOwner]] = field(default_factory=list)  # with metrics of their own
    changes: int = 0
    waiting: deque[int] = field(default_factory=deque)  # number of records of each unacknowledged batch

    def polled(self, records: int, seconds: float) -> None:
        """A source's poll returned records."""
        self.read += records
        self._batch(seconds)

    def throttled(self, seconds: float) -> None:
        """The rate limit has delayed the task."""
        self.throttled_ms += seconds * 1000
        self.changes += 1

    def handed_over(self, records: int) -> None:
        """A batch has been queued for Kafka."""
        self.waiting.append(records)
        self.active += records
        self.changes += 1

    def acknowledged(self, left: int) -> None:
        """Kafka has acknowledged all batches except the last `left`."""
        while len(self.waiting) > left:
            self._wrote(self.waiting.popleft())

    def transaction_committed(self) -> None:
        """All unacknowledged batches, and their offsets, were committed in one transaction."""
        records = sum(self.waiting)
        self.transactions += 1
        self.transaction_records += records
        self.largest_transaction = max(records, self.largest_transaction)
        smallest = self.smallest_transaction
        self.smallest_transaction = records if smallest is None else min(records, smallest)
        self.acknowledged(0)
        self.committed(True)

    def discarded(self) -> None:
        """The unacknowledged batches were aborted with their transaction."""
        self.active = max(self.active - sum(self.waiting), 0)
        self.waiting.clear()
        self.changes += 1

    def fetched(self, records: int) -> None:
        """A sink has fetched records."""
        self.read += records
        self.active += records
        self.lag = max(self.lag or 0, records)  # fetched records have not been put yet
        self.changes += 1

    def put(self, records: int, seconds: float, record_time: int) -> None:
        """A sink's put has accepted records; `record_time` is the timestamp of the last one."""
        self.record_time = max(record_time, self.record_time)
        self._batch(seconds)
        self._wrote(records)

    def behind(self, lag: int | None, partitions: int) -> None:
        """Set a sink's lag and number of partitions."""
        if (lag, partitions) != (self.lag, self.partitions):
            self.lag, self.partitions = lag, partitions
            self.changes += 1

    def committed(self, succeeded: bool) -> None:
        """An offset commit has succeeded or failed."""
        self.commits += succeeded
        self.commit_failures += not succeeded
        self.changes += 1

    def fell_back(self, plugin: str) -> None:
        """A batch was processed record by record because a plugin (one of FALLBACKS) raised."""
        self.fallbacks[plugin] += 1
        self.changes += 1

    def watch(self, plugins: MetricsOwners) -> None:
        """Adds the metrics of plugins."""
        for labels, owner in plugins:
            self.plugins.append((labels, owner))
            owner.metrics_changed = self._metrics_changed

    def _metrics_changed(self) -> None:
        """On any thread."""
        self.changes += 1

    def snapshot(self) -> dict[str, Any]:
        """The counts as JSON. Counts made meanwhile are in the next snapshot."""
        return {
            "read": self.read,
            "written": self.written,
            "active": self.active,
            "batches": self.batches,
            "batch_ms": round(self.batch_ms, 3),
            "longest_ms": round(self.longest_ms, 3),
            "throttled_ms": round(self.throttled_ms, 3),
            "commits": self.commits,
            "commit_failures": self.commit_failures,
            "transactions": self.transactions,
            "transaction_records": self.transaction_records,
            "smallest_transaction": self.smallest_transaction,
            "largest_transaction": self.largest_transaction,
            "partitions": self.partitions,
            "lag": self.lag,
            "record_time": self.record_time,
            "progress_at": self.progress_at,
            "plugins": list(plugin_metrics(self.plugins)),
            **{f"fallbacks_{plugin}": batches for plugin, batches in self.fallbacks.items()},
        }

    def _batch(self, seconds: float) -> None:
        self.batches += 1
        self.batch_ms += seconds * 1000
        self.longest_ms = max(self.longest_ms, seconds * 1000)
        self.changes += 1

    def _wrote(self, records: int) -> None:
        self.written += records
        self.active = max(self.active - records, 0)
        self.progress_at = int(time.time() * 1000)
        self.changes += 1
