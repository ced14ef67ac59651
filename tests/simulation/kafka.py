"""Simulated Kafka: topics as lists of records, transactions with markers and epochs, compaction, consumer groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from runtime.kafka.log.log import LogRecord
from tests.simulation.interposed import START
from tests.simulation.loop import SimLoop
from tests.simulation.network import Retriable
from tests.simulation.trace import Trace

TRANSACTION_TIMEOUT = 10.0


class Fate(Enum):
    """The outcome of the transaction of a record; records outside transactions are COMMITTED."""

    OPEN = auto()
    COMMITTED = auto()
    ABORTED = auto()


@dataclass(eq=False)
class Transaction:
    """One transaction of a producer."""

    producer: str
    epoch: int
    fate: Fate = Fate.OPEN
    topics: dict[Topic, list[Record]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record(LogRecord):
    """Partition 0 of its topic: every topic has one."""

    transaction: Transaction | None = None

    @property
    def fate(self) -> Fate:
        return Fate.COMMITTED if self.transaction is None else self.transaction.fate


class Topic:
    """One partition. `records` is in the order of offsets, with gaps after compaction and at markers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.records: list[Record] = []
        self.end = 0
        self.open: dict[Transaction, int] = {}  # the first offset of each open transaction

    @property
    def stable(self) -> int:
        """The last stable offset: the first record of the oldest open transaction, or the end."""
        return min(self.open.values()) if self.open else self.end

    def read(self, start: int, end: int) -> list[Record]:
        """Committed records from `start` to before `end`."""
        return [r for r in self._from(start) if r.offset < end and r.fate is Fate.COMMITTED]

    def open_in(self, end: int) -> list[Record]:
        return [r for r in self._from(self.stable) if r.offset < end and r.fate is Fate.OPEN] if self.open else []

    def _from(self, start: int) -> list[Record]:
        low, high = 0, len(self.records)
        while low < high:
            middle = (low + high) // 2
            if self.records[middle].offset < start:
                low = middle + 1
            else:
                high = middle
        return self.records[low:]

    def compact(self, before: int, tombstones: int) -> None:
        """Remove records before this offset that have a later committed record of their key before it, and tombstones
        before the second offset, as Kafka does after delete.retention.ms."""
        last = {r.key: r.offset for r in self.records if r.offset < before and r.fate is Fate.COMMITTED}
        self.records = [
            r
            for r in self.records
            if r.offset >= before or (r.offset == last.get(r.key) and not (r.offset < tombstones and r.value is None))
        ]


class Fenced(Exception):
    """Another producer has taken over the transactional id."""


class Full(Retriable):
    """A log directory is full: KAFKA_STORAGE_ERROR."""


@dataclass
class Kafka:
    """The cluster. Every method is one request at its moment of execution."""

    loop: SimLoop
    trace: Trace
    topics: dict[str, Topic] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    open: dict[str, Transaction] = field(default_factory=dict)
    groups: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    full: list[str] = field(default_factory=list)  # topics that take no records, once for each fault
    at_write: Callable[[str, str], None] = lambda topic, worker: None
    """Called when a worker knows that its write to a topic is complete: a moment for a fault."""
    on_change: list[Callable[[str], None]] = field(default_factory=list)
    on_committed: list[Callable[[str, Sequence[Record]], None]] = field(default_factory=list)

    def topic(self, name: str) -> Topic:
        return self.topics.setdefault(name, Topic(name))

    def append(
        self, topic: str, records: Sequence[tuple[bytes | None, bytes | None]], transaction: Transaction | None = None
    ) -> list[int]:
        """Append records; returns their offsets. Fenced for a transaction that has ended."""
        if topic in self.full:
            self.trace.counts["write to a full log"] += 1
            raise Full(topic)
        log, now, offsets = self.topic(topic), int((START + self.loop.time()) * 1000), []
        if transaction is not None and transaction.fate is not Fate.OPEN:
            raise self._fenced(transaction.producer)
        added = []
        for key, value in records:
            added.append(Record(key, value, 0, log.end, now, transaction))
            offsets.append(log.end)
            log.end += 1
        log.records += added
        if transaction is None:
            self._committed(topic, added)
        else:
            log.open.setdefault(transaction, offsets[0])
            transaction.topics.setdefault(log, []).extend(added)
        self._changed(topic)
        return offsets

    def init_producer(self, producer: str) -> int:
        """InitProducerId: a new epoch, which aborts the open transaction of the earlier one."""
        self.epochs[producer] = self.epochs.get(producer, -1) + 1
        if (transaction := self.open.get(producer)) is not None:
            self.trace.counts["transaction aborted by the next producer"] += 1
            self._end(transaction, Fate.ABORTED)
        return self.epochs[producer]

    def begin(self, producer: str, epoch: int) -> Transaction:
        """The transaction of this producer that is open, or a new one."""
        self._check(producer, epoch)
        if producer in self.open:
            return self.open[producer]
        transaction = self.open[producer] = Transaction(producer, epoch)
        self.loop.world.call(TRANSACTION_TIMEOUT, self._expire, transaction)
        return transaction

    def commit(self, transaction: Transaction) -> None:
        self._check(transaction.producer, transaction.epoch)
        if transaction.fate is Fate.ABORTED:
            raise self._fenced(transaction.producer)
        self._end(transaction, Fate.COMMITTED)

    def abort(self, transaction: Transaction) -> None:
        self._check(transaction.producer, transaction.epoch)
        self._end(transaction, Fate.ABORTED)

    def _expire(self, transaction: Transaction) -> None:
        """The coordinator aborts a transaction that takes too long, and fences its producer."""
        if transaction.fate is Fate.OPEN:
            self.trace.counts["transaction timed out"] += 1
            self.epochs[transaction.producer] += 1
            self._end(transaction, Fate.ABORTED)

    def _check(self, producer: str, epoch: int) -> None:
        if self.epochs.get(producer) != epoch:
            raise self._fenced(producer)

    def _fenced(self, producer: str) -> Fenced:
        self.trace.counts["producer fenced"] += 1
        return Fenced(producer)

    def _end(self, transaction: Transaction, fate: Fate) -> None:
        if transaction.fate is not Fate.OPEN:
            return
        transaction.fate = fate
        if self.open.get(transaction.producer) is transaction:
            del self.open[transaction.producer]
        for topic, records in transaction.topics.items():
            del topic.open[transaction]
            topic.end += 1  # the marker
            if fate is Fate.COMMITTED:
                self._committed(topic.name, records)
            self._changed(topic.name)

    def _committed(self, topic: str, records: Sequence[Record]) -> None:
        for call in self.on_committed:
            call(topic, records)

    def _changed(self, topic: str) -> None:
        for call in self.on_change:
            call(topic)
