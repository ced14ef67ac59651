"""The ends of transactions that a task requests (`transaction.boundary=connector`, KIP-618)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from runtime.api.errors import ConnectError

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord

_SUSTAINED = 1.0  # seconds without an empty poll after which polls may share a transaction
_MANY = 10_000  # records without an empty poll after which they may do so earlier
_SHARED_TIME = 0.25  # seconds for which polls share a transaction
_SHARED_RECORDS, _SHARED_BYTES = 200_000, 32 * 1024 * 1024  # in a shared transaction
_WAITING_RECORDS, _WAITING_BYTES = 20_000, 8 * 1024 * 1024  # converted during a commit
_LEAST_BYTES = 256 * 1024  # in a shared transaction, however slow the brokers are
_GROWTH = 4  # times the bytes of the last transaction
_TIME_SHARE = 0.25  # of transaction.timeout.ms, for the records of a shared transaction


class SharedTransactions:
    """Measures the load of a source and the size of its open transaction.

    A quota of the brokers may make a transaction last longer than `transaction.timeout.ms`, and Kafka then aborts it.
    Shared transactions therefore grow step by step, and only as far as the last ones were fast."""

    def __init__(self, clock: Callable[[], float], timeout: float) -> None:
        """`timeout`: transaction.timeout.ms in seconds."""
        self._clock, self._timeout = clock, timeout
        self._room: float = _LEAST_BYTES  # of the next shared transaction
        self._rate = math.inf  # bytes a second of the last transaction
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

    def committed(self) -> None:
        """The transaction was committed."""
        if not self._bytes:
            return
        before, self._rate = self._rate, self._bytes / max(self._clock() - self._began, 0.001)
        lower = min(before, self._rate)  # after a wait, quotas let a transaction pass at once
        self._room = max(_LEAST_BYTES, min(self._bytes * _GROWTH, lower * self._timeout * _TIME_SHARE))

    def is_full_for(self, size: int) -> bool:
        """Whether a poll of `size` bytes needs another transaction than the open one."""
        return self._bytes > 0 and self._bytes + size > self._room

    def may_share(self) -> bool:
        """Whether the next poll may share the open transaction."""
        return (
            self._is_sustained()
            and self._clock() - self._began < _SHARED_TIME
            and self._records < _SHARED_RECORDS
            and self._bytes < min(_SHARED_BYTES, self._room)
        )

    def may_wait(self, records: int, size: int) -> bool:
        """Whether so many converted records may wait for the end of a commit while the task polls again."""
        return self._is_sustained() and records < _WAITING_RECORDS and size < min(_WAITING_BYTES, self._room)

    def _is_sustained(self) -> bool:
        """Whether the source has delivered many records without a pause."""
        if self._busy_since is None:
            return False
        return self._busy_records >= _MANY or self._clock() - self._busy_since >= _SUSTAINED


class End(Enum):
    """How a transaction ends."""

    COMMIT = auto()
    ABORT = auto()


class TransactionRequests:
    """The TransactionContext of a task. Requests may be made on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batch: End | None = None
        self._records: dict[int, tuple[SourceRecord, End]] = {}  # by identity, with the record to keep it alive

    def commit(self, record: SourceRecord | None = None) -> None:
        """Commit after this record, or after the next batch that poll() returns."""
        self._request(record, End.COMMIT)

    def abort(self, record: SourceRecord | None = None) -> None:
        """Abort after this record, or after the next batch that poll() returns."""
        self._request(record, End.ABORT)

    def _request(self, record: SourceRecord | None, end: End) -> None:
        with self._lock:
            if record is None:
                before, self._batch = self._batch, end
            else:
                earlier = self._records.get(id(record))
                before = None if earlier is None else earlier[1]
                self._records[id(record)] = (record, end)
        if before not in (None, end):
            raise ConnectError("The task has requested both to commit and to abort the same transaction")

    def parts(self, records: Sequence[SourceRecord]) -> Iterator[tuple[Sequence[SourceRecord], End | None]]:
        """The records of a poll, split after each record with which a transaction ends; a poll without such a record
        is passed on whole, so that columns stay columns."""
        with self._lock:
            requested, self._records = self._records, {}
        start = 0
        if requested:
            records = list(records)
            for number, record in enumerate(records):
                if (request := requested.pop(id(record), None)) is not None:
                    yield records[start : number + 1], request[1]
                    start = number + 1
            with self._lock:  # requests for records that poll() has not returned yet
                self._records = {**requested, **self._records}
        if start < len(records):
            yield records[start:] if start else records, None

    def take_batch_end(self) -> End | None:
        """The end requested for the batch that has just been processed, once."""
        with self._lock:
            end, self._batch = self._batch, None
        return end
