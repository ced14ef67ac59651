"""Records that fail while the connector goes on: errors.tolerance=all drops them, or makes dead letters of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SHOWN_SECONDS = 20.0  # seconds that a rate is shown: our workers tell each five, while anything moves


class FailureRate(NamedTuple):
    """In what was heard last. `everything`: not one record came through."""

    rate: float = 0.0  # a second
    everything: bool = False
    at: float = 0.0

    def is_so(self, now: float) -> bool:
        """One through which nothing came stays so while it is quiet; a few that failed are past."""
        return self.everything or (self.rate > 0 and now - self.at < SHOWN_SECONDS)


NO_FAILURES = FailureRate()


class RecordCounts(NamedTuple):
    """A `progress` event's counts since the worker started; workers of before told no failures."""

    at: float
    read: int
    failed: int

    def since(self, before: RecordCounts | None) -> FailureRate:
        """With nothing before, or after a worker's restart, what is known is all since it started."""
        if before is None or self.read < before.read or self.failed < before.failed:
            return FailureRate(0.0, self.failed >= self.read > 0, self.at)
        failed, read = self.failed - before.failed, self.read - before.read
        took = max(self.at - before.at, 1.0)
        return FailureRate(failed / took, failed >= read and failed > 0, self.at)


def record_counts(one: Mapping[str, Any], at: float) -> RecordCounts:
    return RecordCounts(at, int(one.get("read") or 0), int(one.get("failed") or 0))
