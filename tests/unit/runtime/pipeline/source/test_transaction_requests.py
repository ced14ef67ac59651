"""Ends of transactions that a task requests: after records, and after batches."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.pipeline.source.transaction_requests import End, TransactionRequests


def _records(count: int) -> list[SourceRecord]:
    return [SourceRecord({"p": 0}, {"n": n}, "t", n) for n in range(count)]


def _parts(requests: TransactionRequests, records: Sequence[SourceRecord]) -> list[tuple[list[object], End | None]]:
    return [([record.value for record in part], end) for part, end in requests.parts(records)]


def test_a_poll_is_cut_behind_the_records_after_which_a_transaction_ends() -> None:
    requests, records = TransactionRequests(), _records(5)
    requests.commit(records[1])
    requests.abort(records[2])
    assert _parts(requests, records) == [([0, 1], End.COMMIT), ([2], End.ABORT), ([3, 4], None)]
    assert _parts(requests, records) == [([0, 1, 2, 3, 4], None)], "a request takes effect once"


def test_a_poll_without_a_cut_is_passed_on_as_it_is() -> None:
    requests, records = TransactionRequests(), _records(3)
    requests.commit()
    ((part, end),) = requests.parts(records)
    assert part is records
    assert end is None
    assert requests.take_batch_end() is End.COMMIT
    assert requests.take_batch_end() is None


def test_a_request_for_a_record_waits_until_poll_returns_the_record() -> None:
    requests, records = TransactionRequests(), _records(4)
    requests.commit(records[3])
    assert _parts(requests, records[:2]) == [([0, 1], None)]
    assert _parts(requests, records[2:]) == [([2, 3], End.COMMIT)]


def test_commit_and_abort_of_the_same_transaction_are_refused() -> None:
    requests, records = TransactionRequests(), _records(1)
    requests.abort(records[0])
    with pytest.raises(ConnectError, match="both to commit and to abort"):
        requests.commit(records[0])
    requests.commit()
    with pytest.raises(ConnectError, match="both to commit and to abort"):
        requests.abort()
