"""Reading to uncommitted ends: which open transactions are awaited."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping, Sequence

import pytest

from runtime.kafka.errors import BrokerUnavailable, TransactionOpen
from runtime.kafka.log.open_tail import Awaited, BatchHeader, Marker
from runtime.kafka.log.reader import LogRecord, Position
from runtime.kafka.log.tail_fetch import FetchedTail
from runtime.kafka.log.tail_reader import CommittedReader, TailReader

AT: Position = ("offsets", 0)
OURS = Awaited("offsets of connector ours", lambda record: record.key == b"ours")


class Partition:
    """A partition whose committed records are read up to `position`; a fetcher of its tail."""

    def __init__(self) -> None:
        self.batches: list[BatchHeader] = []
        self.keys: dict[int, bytes] = {}
        self.position = 0
        self.moved = asyncio.Event()
        self.applied: list[int] = []
        self.fetched: list[int] = []
        self.second_fetch = threading.Event()
        self.failure: Exception | None = None

    @property
    def end(self) -> int:
        return len(self.batches)

    def write(self, key: bytes, producer: int = -1) -> None:
        self.keys[self.end] = key
        self.batches.append(BatchHeader(self.end, self.end, producer, producer >= 0))

    def finish(self, producer: int, marker: Marker = Marker.COMMIT) -> None:
        self.batches.append(BatchHeader(self.end, self.end, producer, True, marker))

    def read_committed(self, position: int) -> None:
        self.position = position
        self.moved.set()

    def fetch(self, starts: Mapping[Position, int]) -> Mapping[Position, FetchedTail]:
        if self.failure is not None:
            raise self.failure
        start = starts[AT]
        self.fetched.append(start)
        if len(self.fetched) > 1:
            self.second_fetch.set()
        found = self.batches[start:]
        return {AT: FetchedTail(found, [self._record(b.first) for b in found if b.marker is None])}

    def transactional_ids(self, producer_ids: Collection[int]) -> Mapping[int, str]:
        return {producer: f"cluster-{producer}" for producer in producer_ids}

    def _record(self, offset: int) -> LogRecord:
        return LogRecord(self.keys[offset], b"", 0, offset, 0)

    async def reached(self, ends: Mapping[Position, int]) -> None:
        while self.position < ends[AT]:
            self.moved.clear()
            await self.moved.wait()

    def apply(self, topic: str, records: Sequence[LogRecord]) -> None:
        assert topic == AT[0]
        self.applied += [record.offset for record in records]

    def reader(self, max_wait: float = 20.0) -> TailReader:
        return TailReader(CommittedReader(lambda at: self.position, self.reached, self.apply), self, max_wait)


@pytest.fixture
def partition() -> Partition:
    return Partition()


async def test_a_commit_in_progress_needs_no_fetch(partition: Partition) -> None:
    partition.write(b"ours", producer=1)
    reading = asyncio.create_task(partition.reader().read({AT: 1}, OURS))
    await asyncio.sleep(0)
    partition.read_committed(1)
    await reading
    assert partition.fetched == []


async def test_open_transactions_without_awaited_records_delay_nobody(partition: Partition) -> None:
    partition.write(b"theirs", producer=1)
    partition.write(b"ours")
    partition.write(b"ours", producer=2)
    partition.finish(2)
    await partition.reader().read({AT: partition.end}, OURS)
    assert partition.applied == [1, 2]


@pytest.mark.parametrize("marker, applied", [(Marker.COMMIT, [1, 2]), (Marker.ABORT, [2])])
async def test_open_transactions_with_awaited_records_are_awaited(
    partition: Partition, marker: Marker, applied: list[int]
) -> None:
    """Behind another open transaction, so that the reader of committed records sees none of it."""
    partition.write(b"theirs", producer=1)
    partition.write(b"ours", producer=2)
    partition.write(b"ours")
    reading = asyncio.create_task(partition.reader().read({AT: partition.end}, OURS))
    assert await asyncio.to_thread(partition.second_fetch.wait, 10)
    assert not reading.done()
    partition.finish(2, marker)
    await asyncio.wait_for(reading, 30)
    assert sorted(partition.applied) == applied
    assert partition.fetched[:2] == [0, 3], "the second fetch continues where the first one ended"


async def test_a_transaction_that_was_read_when_committed_is_not_awaited(partition: Partition) -> None:
    partition.write(b"ours", producer=1)
    reading = asyncio.create_task(partition.reader().read({AT: 1}, OURS))
    assert await asyncio.to_thread(partition.second_fetch.wait, 10)
    partition.read_committed(1)
    await asyncio.wait_for(reading, 30)


async def test_transactions_that_start_after_the_call_are_not_awaited(partition: Partition) -> None:
    partition.write(b"theirs", producer=1)
    end = partition.end
    partition.write(b"ours", producer=2)
    await partition.reader().read({AT: end}, OURS)
    assert partition.fetched == [0]


async def test_the_wait_is_limited_and_the_error_names_the_transaction(partition: Partition) -> None:
    partition.write(b"theirs", producer=1)
    partition.write(b"ours", producer=2)
    with pytest.raises(TransactionOpen) as refused:
        await partition.reader(max_wait=0).read({AT: partition.end}, OURS)
    assert str(refused.value).startswith(
        "offsets of connector ours cannot be read: an open transaction in topic offsets (transactional id cluster-2, "
        "producer id 2, partition 0 from offset 1) has not ended within 0 seconds"
    )


async def test_a_long_wait_is_logged_once(partition: Partition, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    partition.write(b"ours", producer=2)
    with pytest.raises(TransactionOpen):
        await partition.reader(max_wait=2).read({AT: 1}, OURS)
    (line,) = caplog.messages
    assert line.startswith("Reading offsets of connector ours: waiting for the end of an open transaction in topic")


async def test_tails_are_fetched_again_after_a_failure_and_after_they_were_read(partition: Partition) -> None:
    partition.write(b"theirs", producer=1)
    reader = partition.reader()
    partition.failure = BrokerUnavailable("no answer")
    with pytest.raises(BrokerUnavailable, match="no answer"):
        await reader.read({AT: 1}, OURS)
    partition.failure = None
    await reader.read({AT: 1}, OURS)
    partition.finish(1)
    partition.read_committed(2)
    partition.write(b"theirs", producer=3)
    partition.write(b"ours")
    await reader.read({AT: partition.end}, OURS)
    assert (partition.fetched, partition.applied) == ([0, 2], [3])


async def test_readers_share_fetches(partition: Partition) -> None:
    partition.write(b"theirs", producer=1)
    partition.write(b"ours")
    reader = partition.reader()
    await asyncio.gather(*(reader.read({AT: partition.end}, OURS) for _ in range(20)))
    assert len(partition.fetched) < 10  # two, unless waits of readers end far apart
    assert partition.applied == [1]
