"""Records behind open transactions are resolved from the headers of their batches."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from runtime.kafka.log.open_tail import Awaited, BatchHeader, Marker, OpenTail
from runtime.kafka.log.reader import LogRecord

ANY = Awaited("records", lambda record: True)


def record(offset: int, key: bytes = b"k") -> LogRecord:
    return LogRecord(key, b"%d" % offset, 0, offset, 0)


def data(first: int, last: int, producer: int = -1) -> tuple[BatchHeader, list[LogRecord]]:
    """A batch; transactional if it names a producer."""
    return BatchHeader(first, last, producer, producer >= 0), [record(n) for n in range(first, last + 1)]


def end(offset: int, producer: int, marker: Marker) -> tuple[BatchHeader, list[LogRecord]]:
    return BatchHeader(offset, offset, producer, True, marker), []


def add(tail: OpenTail, *parts: tuple[BatchHeader, list[LogRecord]]) -> list[int]:
    """The offsets of the records that became readable."""
    records = [r for _, found in parts for r in found]
    return [r.offset for r in tail.add([batch for batch, _ in parts], records)]


def test_records_behind_an_open_transaction_are_readable() -> None:
    tail = OpenTail(10)
    assert add(tail, data(10, 11, producer=1), data(12, 13), data(14, 14, producer=2)) == [12, 13]
    assert add(tail, end(15, 2, Marker.COMMIT)) == [14]
    assert tail.position == 16
    assert [t.first for t in tail.open_with(ANY, before=16)] == [10]


def test_committed_records_are_readable_in_the_order_of_their_offsets() -> None:
    tail = OpenTail(0)
    interleaved = [data(0, 0, 1), data(1, 1, 2), data(2, 2, 1), data(3, 3, 2)]
    assert add(tail, *interleaved, end(4, 2, Marker.COMMIT), end(5, 1, Marker.COMMIT)) == [0, 1, 2, 3]
    assert tail.open_with(ANY, before=6) == []


def test_aborted_records_are_not_readable() -> None:
    tail = OpenTail(0)
    assert add(tail, data(0, 1, 1), end(2, 1, Marker.ABORT), data(3, 3, 1)) == []
    assert add(tail, end(4, 1, Marker.COMMIT)) == [3], "the same producer's next transaction"


def test_the_end_of_a_transaction_from_before_the_tail_is_ignored() -> None:
    assert add(OpenTail(5), end(5, 7, Marker.COMMIT), data(6, 6)) == [6]


def test_records_before_the_position_are_ignored() -> None:
    """A broker returns whole batches, also if the fetch starts in the middle of one."""
    tail = OpenTail(2)
    assert add(tail, data(0, 1), data(2, 3)) == [2, 3]
    assert add(tail, data(2, 3), data(4, 4)) == [4]
    assert add(OpenTail(1), data(0, 2)) == [1, 2]


def test_batches_without_their_records_advance_the_position() -> None:
    tail = OpenTail(0)
    assert tail.add([BatchHeader(0, 9)], [record(3)]) == [record(3)]
    assert tail.position == 10


def test_only_transactions_with_awaited_records_below_the_end_are_awaited() -> None:
    tail = OpenTail(0)
    tail.add(
        [BatchHeader(0, 0, 1, True), BatchHeader(1, 1, 2, True), BatchHeader(2, 2, 3, True)],
        [record(0, b"theirs"), record(1, b"ours"), record(2, b"ours")],
    )
    ours = Awaited("ours", lambda found: found.key == b"ours")
    assert [t.producer_id for t in tail.open_with(ours, before=2)] == [2], "producer 3 started later"
    assert [t.producer_id for t in tail.open_with(ours, before=3)] == [2, 3]


@dataclass
class Model:
    """The transactions of a few producers, and what a reader may see in the end."""

    open: dict[int, list[int]]
    readable: set[int]

    def step(self, offset: int, producer: int, action: str) -> tuple[BatchHeader, list[LogRecord]]:
        if action == "plain":
            self.readable.add(offset)
            return data(offset, offset)
        if action == "write":
            self.open.setdefault(producer, []).append(offset)
            return data(offset, offset, producer)
        written = self.open.pop(producer, [])
        self.readable |= set(written if action == "commit" else ())
        return end(offset, producer, Marker.COMMIT if action == "commit" else Marker.ABORT)


steps = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["plain", "write", "write", "commit", "abort"])))


@given(steps, st.integers(1, 5))
def test_any_history_read_in_parts_of_any_size(history: list[tuple[int, str]], size: int) -> None:
    model, tail = Model({}, set()), OpenTail(0)
    parts = [model.step(offset, producer, action) for offset, (producer, action) in enumerate(history)]
    found: list[int] = []
    for start in range(0, len(parts), size):
        found += add(tail, *parts[start : start + size])
    assert sorted(found) == sorted(model.readable)
    assert {t.producer_id for t in tail.open_with(ANY, before=len(parts))} == set(model.open)
    assert tail.position == len(parts)
