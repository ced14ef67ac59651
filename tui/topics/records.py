"""Records of topics, and pages of them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class TopicRecord(NamedTuple):
    """A record as it is stored; `timestamp` in milliseconds since 1970, 0 if it has none. `is_append_time`: the brokers
    have replaced the record's own timestamp (LogAppendTime)."""

    topic: str
    partition: int
    offset: int
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    is_append_time: bool = False

    @property
    def id(self) -> str:
        return f"{self.partition}/{self.offset}"

    @property
    def place(self) -> str:
        """Partition and offset as in commands: `3@1200`."""
        return f"{self.partition}@{self.offset}"

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        return sum(len(part or b"") for part in (self.key, self.value, *(value for _, value in self.headers)))


class RecordPage(NamedTuple):
    """Records of a topic, oldest first. By partition: the page covers the offsets from `starts` up to `ends`;
    `earliest` and `latest` bound the topic when the page was read."""

    records: tuple[TopicRecord, ...]
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    earliest: Mapping[int, int]
    latest: Mapping[int, int]
    scanned: int = 0  # records that were read, including those that a search did not match
    is_cut: bool = False  # whether a limit ended the page before it was full

    @property
    def has_older(self) -> bool:
        return any(self.starts[number] > self.earliest[number] for number in self.starts)

    @property
    def has_newer(self) -> bool:
        return any(self.ends[number] < self.latest[number] for number in self.ends)

    @property
    def total(self) -> int:
        """Records in these partitions, estimated from their offsets."""
        return sum(self.latest[number] - self.earliest[number] for number in self.latest)

    def joined(self, other: RecordPage, most: int) -> RecordPage:
        """This page and an adjacent one read later; if there are more than `most` records, this page is dropped where
        it is farthest from the other."""
        is_newer = any(other.starts[number] > self.starts[number] for number in self.starts)
        first, last = (self, other) if is_newer else (other, self)
        records = merged([*first.records, *last.records])
        whole = other._replace(records=tuple(records), starts=first.starts, ends=last.ends)
        if len(records) <= most:
            return whole
        kept = newest(records, most) if is_newer else oldest(records, most)
        return whole.narrowed(kept, keeps_end=is_newer)

    def narrowed(self, kept: Sequence[TopicRecord], keeps_end: bool) -> RecordPage:
        """The part of the page that holds `kept`: its records at the end, or at the start."""
        dropped = {record.id for record in self.records} - {record.id for record in kept}
        starts, ends = dict(self.starts), dict(self.ends)
        for record in self.records:
            if record.id in dropped and keeps_end:
                starts[record.partition] = max(starts[record.partition], record.offset + 1)
            elif record.id in dropped:
                ends[record.partition] = min(ends[record.partition], record.offset)
        return self._replace(records=tuple(kept), starts=starts, ends=ends)


def merged(records: Sequence[TopicRecord]) -> list[TopicRecord]:
    """The records by time; those of a partition stay in the order of their offsets."""
    return list(heapq.merge(*_by_partition(records), key=lambda record: (record.timestamp, record.partition)))


def newest(records: Sequence[TopicRecord], count: int) -> list[TopicRecord]:
    """The last records by time; of each partition, those with the highest offsets."""
    ways = (part[::-1] for part in _by_partition(records))
    order = heapq.merge(*ways, key=lambda record: (record.timestamp, record.partition), reverse=True)
    return merged([record for record, _ in zip(order, range(count), strict=False)])


def oldest(records: Sequence[TopicRecord], count: int) -> list[TopicRecord]:
    """The first records by time; of each partition, those with the lowest offsets."""
    return merged(records)[:count]


def _by_partition(records: Sequence[TopicRecord]) -> list[list[TopicRecord]]:
    parts: dict[int, list[TopicRecord]] = {}
    for record in sorted(records, key=lambda record: record.offset):
        parts.setdefault(record.partition, []).append(record)
    return list(parts.values())
