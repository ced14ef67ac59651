"""Failure rates of connectors that continue after failed records, which errors.tolerance=all drops or dead-letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SHOWN_SECONDS = 20.0  # Headrace workers report every 5 s while records move


class FailureRate(NamedTuple):
    """The latest failure rate. `everything` is true if every record failed."""

    rate: float = 0.0  # a second
    everything: bool = False
    at: float = 0.0

    def is_so(self, now: float) -> bool:
        """Whether to show failures now: a total failure until records move again, others for a limited time."""
        return self.everything or (self.rate > 0 and abs(now - self.at) < SHOWN_SECONDS)


NO_FAILURES = FailureRate()


class RecordCounts(NamedTuple):
    """Counts of a `progress` event since the worker started; older workers do not report failures."""

    at: float
    read: int
    failed: int

    def since(self, before: RecordCounts | None) -> FailureRate:
        """The rate since earlier counts; without them, or after a restart of the worker, since its start."""
        if before is None or self.read < before.read or self.failed < before.failed:
            return FailureRate(0.0, self.failed >= self.read > 0, self.at)
        failed, read = self.failed - before.failed, self.read - before.read
        took = max(self.at - before.at, 1.0)
        return FailureRate(failed / took, failed >= read and failed > 0, self.at)


def record_counts(task: Mapping[str, Any], at: float) -> RecordCounts:
    return RecordCounts(at, int(task.get("read") or 0), int(task.get("failed") or 0))
