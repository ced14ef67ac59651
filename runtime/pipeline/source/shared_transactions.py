"""When polls share a transaction: under load, since each commit costs a few milliseconds."""

from __future__ import annotations

from collections.abc import Callable

_SUSTAINED = 1.0  # seconds without an empty poll after which polls may share a transaction
_MANY = 10_000  # records without an empty poll after which they may do so earlier
_SHARED_TIME = 0.25  # seconds for which polls share a transaction
_SHARED_RECORDS, _SHARED_BYTES = 200_000, 32 * 1024 * 1024  # in a shared transaction
_WAITING_RECORDS, _WAITING_BYTES = 20_000, 8 * 1024 * 1024  # converted during a commit


class SharedTransactions:
    """Measures the load of a source and the size of its open transaction."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._busy_since: float | None = None  # the first poll since the last empty one
        self._busy_records = 0  # polled since then
        self._began, self._records, self._bytes = 0.0, 0, 0  # of the open transaction

    def polled(self, records: int) -> None:
        """A poll has returned records."""
        if self._busy_since is None:
            self._busy_since = self._clock()
        self._busy_records += records

    def idle(self) -> None:
        """A poll has returned nothing."""
        self._busy_since, self._busy_records = None, 0

    def began(self) -> None:
        """A transaction was opened."""
        self._began, self._records, self._bytes = self._clock(), 0, 0

    def sent(self, records: int, size: int) -> None:
        """Records of `size` bytes were sent in the open transaction."""
        self._records += records
        self._bytes += size

    def may_share(self) -> bool:
        """Whether the next poll may share the open transaction."""
        return (
            self._is_sustained()
            and self._clock() - self._began < _SHARED_TIME
            and self._records < _SHARED_RECORDS
            and self._bytes < _SHARED_BYTES
        )

    def may_wait(self, records: int, size: int) -> bool:
        """Whether so many converted records may wait for the end of a commit while the task polls again."""
        return self._is_sustained() and records < _WAITING_RECORDS and size < _WAITING_BYTES

    def _is_sustained(self) -> bool:
        """Whether the source has delivered many records without a pause."""
        if self._busy_since is None:
            return False
        return self._busy_records >= _MANY or self._clock() - self._busy_since >= _SUSTAINED
