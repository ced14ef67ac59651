"""The ends of transactions that a task requests (`transaction.boundary=connector`, KIP-618)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from runtime.api.errors import ConnectError

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord


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
