"""The tail of a partition: the records from its last stable offset to its high watermark.

Consumers with isolation level read_committed stop at the first record of the oldest open transaction, although records
behind that record may be committed. The headers of the batches in the tail show which ones are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from runtime.kafka.log.reader import LogRecord


class Marker(Enum):
    """The end of a transaction, in a control batch."""

    COMMIT = auto()
    ABORT = auto()


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """A batch without its records. `first` and `last` are offsets."""

    first: int
    last: int
    producer_id: int = -1
    transactional: bool = False
    marker: Marker | None = None


@dataclass(frozen=True, slots=True)
class Awaited:
    """Records whose open transactions a reader waits for. `what` describes the records in messages: `offsets of
    connector orders`. `within`: seconds to wait; None for the reader's limit."""

    what: str
    includes: Callable[[LogRecord], bool]
    within: float | None = None


@dataclass(slots=True)
class OpenTransaction:
    """A transaction without an end marker. `first` is its first offset in the partition."""

    producer_id: int
    first: int
    records: list[LogRecord] = field(default_factory=list)


class OpenTail:
    """The tail of one partition, read part by part. `position` is the offset at which the next part starts.

    The tail may start at any offset up to the last stable offset: all transactions that are open there started later.
    """

    def __init__(self, start: int) -> None:
        self.position = start
        self._open: dict[int, OpenTransaction] = {}  # by producer id

    def add(self, batches: Sequence[BatchHeader], records: Sequence[LogRecord]) -> list[LogRecord]:
        """Continue with these batches and the records in them, both ordered by offset. Returns the records that became
        readable, ordered by offset: those written without a transaction, and those of committed transactions."""
        readable: list[LogRecord] = []
        left = deque(records)
        for batch in batches:
            content = []
            while left and left[0].offset <= batch.last:
                record = left.popleft()
                if record.offset >= self.position:  # a fetch may return records before the requested offset
                    content.append(record)
            if batch.last >= self.position:
                readable += self._take(batch, content)
                self.position = batch.last + 1
        return sorted(readable, key=lambda record: record.offset)

    def _take(self, batch: BatchHeader, content: list[LogRecord]) -> list[LogRecord]:
        if batch.marker is not None:
            ended = self._open.pop(batch.producer_id, None)
            return ended.records if ended is not None and batch.marker is Marker.COMMIT else []
        if not batch.transactional:
            return content
        transaction = self._open.setdefault(batch.producer_id, OpenTransaction(batch.producer_id, batch.first))
        transaction.records += content
        return []

    def open_with(self, awaited: Awaited, before: int) -> list[OpenTransaction]:
        """The open transactions that contain awaited records with offsets below `before`."""
        return [
            transaction
            for transaction in self._open.values()
            if any(record.offset < before and awaited.includes(record) for record in transaction.records)
        ]
