"""Which ranges of offsets are read for a page of records, and the records found in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tui.topics.records import RecordPage, TopicRecord, newest, oldest

PAGE_TIME = 10.0  # seconds after which a page ends with the records read so far, if there are any
MAX_BYTES = 16 * 1024 * 1024  # of records held for one page
MAX_CHUNK = 5_000  # records read at once
MAX_SCANNED = 50_000  # records that one page of a search reads
LEAST_SHARE = 20  # records read of each partition, so that a page of many partitions is in the order of time


def limits_text(seconds: float) -> str:
    """The limits of a page that no option raises."""
    return f"the limit of {MAX_BYTES >> 20} MiB or {seconds:g} s"


Matches = Callable[[TopicRecord], bool]
Ranges = dict[int, tuple[int, int]]  # by partition: the first offset, and the one behind the last


class ReadLimits(NamedTuple):
    """The bounds of one page."""

    records: int
    scanned: int = MAX_SCANNED
    seconds: float = PAGE_TIME
    bytes: int = MAX_BYTES
    chunk: int = MAX_CHUNK


class Chunk(NamedTuple):
    """Records read at once."""

    records: list[TopicRecord]
    finished: set[int]  # the partitions of which all requested records were read


class PageScan:
    """Grows a page by ranges next to it, larger ones where a range held few records, until it is full or a limit is
    reached."""

    def __init__(self, page: RecordPage, limits: ReadLimits, is_older: bool, matches: Matches | None) -> None:
        """`page` is empty, at the place from which to read."""
        self._page, self._limits, self._is_older, self._matches = page, limits, is_older, matches
        self._starts, self._ends = dict(page.starts), dict(page.ends)
        self._found: list[TopicRecord] = []
        self._size = 0  # bytes of the records found
        self._scanned = 0
        self._is_cut = False
        self._share = max(-(-limits.records // max(len(page.starts), 1)), min(limits.records, LEAST_SHARE))
        self.deadline = time.monotonic() + limits.seconds

    @property
    def room(self) -> int:
        """Bytes that further records may have."""
        return self._limits.bytes - self._size

    def next_ranges(self) -> Ranges:
        """The ranges to read next; none at the end of the page."""
        if self._is_cut or len(self._found) >= self._limits.records:
            return {}
        is_late = self._scanned > 0 and time.monotonic() > self.deadline
        self._is_cut = self._scanned >= self._limits.scanned or is_late
        return {} if self._is_cut else {p: span for p, span in self._adjacent() if span[0] < span[1]}

    def _adjacent(self) -> list[tuple[int, tuple[int, int]]]:
        page, share = self._page, self._share
        if self._is_older:
            return [(p, (max(page.earliest[p], start - share), start)) for p, start in self._starts.items()]
        return [(p, (end, min(page.latest[p], end + share))) for p, end in self._ends.items()]

    def take(self, ranges: Ranges, chunk: Chunk) -> None:
        """Add the records of the ranges that were read to their end."""
        read = [record for record in chunk.records if record.partition in chunk.finished]
        records = [record for record in read if self._matches is None or self._matches(record)]
        self._scanned += len(read)
        self._found += records
        self._size += sum(record.size for record in records)
        for partition in chunk.finished:
            if self._is_older:
                self._starts[partition] = ranges[partition][0]
            else:
                self._ends[partition] = ranges[partition][1]
        self._resize(ranges, len(read), is_whole=len(chunk.finished) == len(ranges))

    def _resize(self, ranges: Mapping[int, object], read: int, is_whole: bool) -> None:
        """The share of each partition in the next ranges."""
        if not is_whole:  # the limits of a chunk: the rest again, in smaller ranges
            self._share = max(1, self._share // 8)
            self._is_cut = self._size > self._limits.bytes // 2
        elif not read:  # as where a topic was compacted
            self._share *= 16
        elif read < self._limits.records // 2 or self._matches is not None:
            self._share = min(self._share * 4, max(self._limits.chunk // len(ranges), 1))

    def page(self) -> RecordPage:
        """The page, with the records nearest to its start."""
        records, most = self._found, self._limits.records
        kept = newest(records, most) if self._is_older else oldest(records, most)
        whole = self._page._replace(
            records=tuple(records), starts=self._starts, ends=self._ends, scanned=self._scanned, is_cut=self._is_cut
        )
        return whole.narrowed(kept, keeps_end=self._is_older)
