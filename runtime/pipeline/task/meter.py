"""What a task has done so far and what waits for it: counted by the task's thread, a few additions for a batch."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

FALLBACKS = ("predicate", "transformation", "converter")
"""The plugins whose exception may make a batch fall back to processing record by record."""

LAG_INTERVAL = 1.0
"""Seconds between two looks at how far behind a sink is."""


@dataclass(slots=True)
class Meter:
    """Of one run of a task; other threads read it. `changes` rises with everything that is counted."""

    read: int = 0  # records: polled from the source, or fetched from Kafka
    written: int = 0  # records: acknowledged by Kafka, or put
    batches: int = 0  # polls that brought something, puts
    batch_ms: float = 0.0  # all of them together
    longest_ms: float = 0.0
    commits: int = 0
    commit_failures: int = 0
    partitions: int = 0  # of a sink
    lag: int | None = None  # records behind the ends of a sink's partitions; None: not known (yet)
    record_time: int = -1  # of the newest record that was put, in milliseconds since 1970
    progress_at: int = -1  # when a record was last written
    active: int = 0  # records that are read and on their way
    fallbacks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FALLBACKS, 0))  # batches, by plugin
    changes: int = 0
    waiting: deque[int] = field(default_factory=deque)  # records of each batch that is not acknowledged yet

    def polled(self, records: int, seconds: float) -> None:
        """A source's poll brought records."""
        self.read += records
        self._batch(seconds)

    def handed_over(self, records: int) -> None:
        """A batch is on its way to Kafka, behind the others."""
        self.waiting.append(records)
        self.active += records
        self.changes += 1

    def acknowledged(self, left: int) -> None:
        """Kafka has taken all batches but the last `left`."""
        while len(self.waiting) > left:
            self._wrote(self.waiting.popleft())

    def fetched(self, records: int) -> None:
        """Kafka gave a sink records."""
        self.read += records
        self.active += records
        self.lag = max(self.lag or 0, records)  # they are not put yet
        self.changes += 1

    def put(self, records: int, seconds: float, record_time: int) -> None:
        """A sink's put took records; `record_time` is the last one's."""
        self.record_time = max(record_time, self.record_time)
        self._batch(seconds)
        self._wrote(records)

    def behind(self, lag: int | None, partitions: int) -> None:
        """How far a sink's positions are from the ends of its partitions."""
        if (lag, partitions) != (self.lag, self.partitions):
            self.lag, self.partitions = lag, partitions
            self.changes += 1

    def committed(self, well: bool) -> None:
        """Offsets were committed, or could not be."""
        self.commits += well
        self.commit_failures += not well
        self.changes += 1

    def fell_back(self, plugin: str) -> None:
        """A batch was processed record by record because a plugin (one of FALLBACKS) raised."""
        self.fallbacks[plugin] += 1
        self.changes += 1

    def snapshot(self) -> dict[str, Any]:
        """As JSON. The task may go on counting meanwhile: it is in the next one then."""
        return {
            "read": self.read,
            "written": self.written,
            "active": self.active,
            "batches": self.batches,
            "batch_ms": round(self.batch_ms, 3),
            "longest_ms": round(self.longest_ms, 3),
            "commits": self.commits,
            "commit_failures": self.commit_failures,
            "partitions": self.partitions,
            "lag": self.lag,
            "record_time": self.record_time,
            "progress_at": self.progress_at,
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
