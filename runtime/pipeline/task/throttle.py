"""Keeps a task within its rate limit (`headrace.rate.*`): how long to wait, and how much to process next."""

from __future__ import annotations

import time
from collections.abc import Callable

from runtime.model.rate_limit import RateLimit
from runtime.system.token_bucket import TokenBucket

_SLICE = 0.1  # seconds of the limit that are processed at once
_BURST = 0.5  # seconds of the limit that may be made up for after a delay
_WEIGHT = 0.2  # of the newest batch in the average size of a record


class Throttle:
    """The limit of one task. Called on the task's thread."""

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._records = _bucket(limit.records, clock)
        self._bytes = _bucket(limit.bytes, clock)
        self._size: float | None = None  # expected bytes of a record; None before the first one

    def wait(self) -> float:
        """Seconds until the next records may be processed; 0 if some may be now."""
        return max(_wait(self._records), _wait(self._bytes))

    def allowed(self, most: int) -> int:
        """How many records to process now, between 1 and `most`."""
        if self._records is not None:
            most = min(most, int(self._records.tokens + 0.001))
        if self._bytes is not None:
            most = 1 if self._size is None else min(most, int(self._bytes.tokens / self._size))
        return max(most, 1)

    @property
    def limits_bytes(self) -> bool:
        """Whether the size of records matters."""
        return self._bytes is not None

    def count(self, records: int) -> None:
        """These records are processed."""
        if self._records is not None:
            self._records.take(records)

    def count_bytes(self, records: int, size: int) -> None:
        """Records of this size together are processed; what exceeds the limit delays the next ones."""
        if self._bytes is not None and records:
            self._bytes.take(size)
            newest = max(size / records, 1.0)
            average = newest if self._size is None else self._size + _WEIGHT * (newest - self._size)
            self._size = max(newest, average)  # larger records than expected are a debt, smaller ones are not


def _bucket(rate: float | None, clock: Callable[[], float]) -> TokenBucket | None:
    return None if rate is None else TokenBucket(rate, max(rate * _BURST, 1.0), clock)


def _wait(bucket: TokenBucket | None) -> float:
    return 0.0 if bucket is None else bucket.wait(max(bucket.rate * _SLICE, 1.0))


def throttle_of(limit: RateLimit) -> Throttle | None:
    """None without a limit, so that tasks without one spend nothing on it."""
    return None if limit.records is None and limit.bytes is None else Throttle(limit)
