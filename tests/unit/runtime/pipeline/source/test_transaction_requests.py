"""Ends of transactions that a task requests: after records, and after batches."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.pipeline.source.transaction_requests import End, SharedTransactions, TransactionRequests


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


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _transaction(sharing: SharedTransactions, time: _Time, polls: int, size: int, seconds: float) -> int:
    """Commits a transaction of as many of these polls as may share it, in so many seconds; returns their number."""
    sharing.began()
    sent = 0
    while sent < polls and not sharing.is_full_for(size):
        sharing.polled(10_000)
        sharing.sent(1000, size)
        sent += 1
    time.now += seconds
    sharing.committed()
    return sent


def test_shared_transactions_grow_while_they_are_fast() -> None:
    time = _Time()
    sharing = SharedTransactions(time, 60.0)
    assert [_transaction(sharing, time, 1000, 100_000, 0.1) for _ in range(4)] == [2, 8, 32, 128]


def test_shared_transactions_end_long_before_their_timeout() -> None:
    """20 kB/s, by a quota: a quarter of a minute is 300 kB, which a transaction reaches in a few steps."""
    time = _Time()
    sharing = SharedTransactions(time, 60.0)
    _transaction(sharing, time, 1000, 100_000, 0.1)  # before the quota
    sizes = [_transaction(sharing, time, 1000, 100_000, polls * 5.0) for polls in (8, 3, 3)]
    assert sizes == [8, 3, 3]
    assert not sharing.may_wait(1000, 400_000)


def test_a_poll_is_never_divided() -> None:
    time = _Time()
    sharing = SharedTransactions(time, 60.0)
    assert [_transaction(sharing, time, 3, 10_000_000, 500.0) for _ in range(3)] == [1, 1, 1]
