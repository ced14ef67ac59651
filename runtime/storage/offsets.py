"""The offset topic: offsets of source connectors, in Apache Connect's own records (FACTS.md, 7)."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.api.errors import ConnectError
from runtime.kafka.formats import canonical, compact, java_ordered, offset_key
from runtime.kafka.log.log import Awaited, LogRecord, Record, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.model.task_spec import SourceOffset
from runtime.storage.port import LogOpener, MalformedRecord, json_object, json_value, log_skipped
from runtime.system.loop_turns import LoopTurns

_log = logging.getLogger(__name__)

Partition = dict[str, Any] | None
Offset = dict[str, Any] | None


# Means the same as a tombstone to Connect's workers. Compaction removes a tombstone after delete.retention.ms, but not
# the last record of its key in another Kafka partition, where the key was before partitions were added: an offset that
# was reset would return.
_KEPT_RESET = b"null"

_FORGOTTEN = 24 * 3600.0
"""Seconds for which a reset is kept in memory, as Kafka keeps a tombstone by default. Until then older records of the
key may arrive again."""

_FORGOTTEN_AT_ONCE = 1000  # a few milliseconds of the event loop: all resets that a start has read are due together


@dataclass(frozen=True, slots=True)
class _Stored:
    """The latest record of a key."""

    raw_key: bytes
    partition: Partition
    offset: Offset  # None: reset
    age: tuple[int, int]  # timestamp and offset, since spellings of a partition may be in different Kafka partitions
    kafka_partition: int
    moved: bool = False  # an older record of the key is in another Kafka partition

    def precedes(self, age: tuple[int, int], kafka_partition: int) -> bool:
        """Whether a record of the key is not older: keys move when partitions are added to the topic."""
        return self.age[1] <= age[1] if kafka_partition == self.kafka_partition else self.age[0] <= age[0]


class OffsetStore:
    """Reads and writes the offset topic. Event loop only.

    The keys of a partition may be spelled differently, since the order of JSON keys differs between writers; the latest
    record counts."""

    def __init__(self, logs: LogOpener, spec: TopicSpec, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = logs.open(spec, self.apply), clock
        self._stored: dict[str, dict[str, list[_Stored]]] = {}  # connector, partition (canonical), its spellings
        self._resets: OrderedDict[tuple[str, str], float] = OrderedDict()  # connector, partition (canonical): when read

    async def read_to_end(self, name: str | None = None, within: float | None = None) -> None:
        """Apply all offsets committed so far by any worker, also those behind open transactions. Waits for open
        transactions with offsets of this connector, since they may be about to be committed (KIP-618), for `within`
        seconds or as long as transactions can last.

        BrokerUnavailable if Kafka does not answer, TransactionOpen if such a transaction does not end."""
        what = "offsets" if name is None else f"offsets of connector {name}"
        mine = Awaited(what, lambda record: name is not None and _connector(record) == name, within)
        await self._log.read_to_end(mine)

    def offsets(self, name: str) -> list[SourceOffset]:
        """Offsets of a connector, one for each partition."""
        offsets = []
        for spellings in self._stored.get(name, {}).values():
            latest = _latest(spellings)
            if latest.offset is not None:
                partition: Any = latest.partition  # may be null
                offsets.append(SourceOffset(partition, latest.offset, latest.raw_key.decode()))
        return offsets

    def known(self, name: str) -> set[str]:
        """Partitions of a connector with a record in this topic, resets included, as canonical text."""
        return set(self._stored.get(name, ()))

    def names(self) -> list[str]:
        """Connectors that have offsets, deleted connectors included."""
        return sorted(
            name
            for name, stored in self._stored.items()
            if any(s.offset is not None for spellings in stored.values() for s in spellings)
        )

    def written(self, name: str) -> dict[str, int]:
        """When the offset of each partition (as canonical text) was written, in milliseconds since 1970."""
        return {text: _latest(spellings).age[0] for text, spellings in self._stored.get(name, {}).items()}

    async def alter(
        self, name: str, offsets: Sequence[tuple[Partition, Offset]], writer: TransactionalWriter | None = None
    ) -> None:
        """Set the offsets of partitions, or reset them (None); if a partition occurs twice, the last entry wins. With a
        writer: in one of its transactions.

        Call read_to_end() first. One key keeps the offset, every other spelling of the partition gets a tombstone."""
        turns, records = LoopTurns(), list[Record]()
        wanted: dict[str, tuple[Partition, Offset]] = {}
        for partition, offset in offsets:
            wanted[canonical(partition)] = partition, offset
            await turns.next()
        for text, (partition, offset) in wanted.items():
            records += self._changes(name, text, partition, offset)
            await turns.next()
        if records:
            await self._log.write_acknowledged(records, writer)
        removed = {key for key, value in records if value is None}
        stored = (s for text in wanted for s in self._spellings(name, text))
        if moved := [s.raw_key for s in stored if s.moved and s.raw_key in removed]:
            await self._log.write_acknowledged([(key, _KEPT_RESET) for key in moved], writer)

    def _changes(self, name: str, text: str, partition: Partition, offset: Offset) -> list[Record]:
        """The records that set the offset of a partition."""
        spellings = self._spellings(name, text)
        key = _latest(spellings).raw_key if spellings else offset_key(name, partition)
        others = [s.raw_key for s in spellings if s.raw_key != key and s.offset is not None]
        value = None if offset is None else compact(java_ordered(offset))
        return [*((other, None) for other in others), (key, value)]

    async def commit(self, name: str, records: Sequence[Record]) -> None:
        """Write records committed by a task unchanged, for workers whose tasks do not write to the topic themselves.
        ConnectError for keys of other connectors."""
        if others := {other for key, _ in records if (other := _connector_of(key)) != name}:
            raise ConnectError(f"A task of {name} may not commit offsets of {', '.join(map(repr, others))}")
        await self._log.write_acknowledged(records)

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Apply records of the topic; malformed records are logged and skipped. Records that were applied before the
        reader has reached them arrive again, with older ones before them: those are ignored."""
        for record in records:
            try:
                self._take(record)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)
        self._forget_resets()

    def _forget_resets(self) -> None:
        """A source whose partitions end, such as files, would need more and more memory for them."""
        due = self._clock() - _FORGOTTEN
        for _ in range(_FORGOTTEN_AT_ONCE):
            oldest = next(iter(self._resets), None)
            if oldest is None or self._resets[oldest] > due:
                return
            del self._resets[oldest]
            name, text = oldest
            if all(s.offset is None and not s.moved for s in self._spellings(name, text)):
                del self._stored[name][text]
                if not self._stored[name]:
                    del self._stored[name]

    def _take(self, record: LogRecord) -> None:
        key = json_value(record.key)
        if not isinstance(key, list) or len(key) != 2 or not isinstance(key[0], str):
            raise MalformedRecord("the key is not a connector's name and a partition")
        name, partition = key
        if partition is not None and not isinstance(partition, dict):
            raise MalformedRecord("the partition is not a JSON object")
        raw_key, offset, age = record.key or b"", json_object(record.value), (record.timestamp, record.offset)
        text = canonical(partition)
        spellings = self._stored.setdefault(name, {}).setdefault(text, [])
        if offset is None:
            self._resets[name, text] = self._clock()
            self._resets.move_to_end((name, text))
        index = next((i for i, stored in enumerate(spellings) if stored.raw_key == raw_key), None)
        if index is None:
            spellings.append(_Stored(raw_key, partition, offset, age, record.partition))
            return
        before = spellings[index]
        moved = before.moved or before.kafka_partition != record.partition
        if before.precedes(age, record.partition):
            spellings[index] = _Stored(raw_key, partition, offset, age, record.partition, moved)
        else:
            spellings[index] = replace(before, moved=moved)

    def _spellings(self, name: str, text: str) -> list[_Stored]:
        """The latest records of a partition, which is given as canonical text."""
        return self._stored.get(name, {}).get(text, [])


def _latest(spellings: Sequence[_Stored]) -> _Stored:
    return spellings[0] if len(spellings) == 1 else max(spellings, key=lambda s: s.age)


def _connector(record: LogRecord) -> str | None:
    """The connector to which a record of the topic belongs; None for a malformed record."""
    return _connector_of(record.key)


def _connector_of(raw_key: bytes | None) -> str | None:
    try:
        key = json_value(raw_key)
    except MalformedRecord:
        return None
    return key[0] if isinstance(key, list) and key and isinstance(key[0], str) else None
