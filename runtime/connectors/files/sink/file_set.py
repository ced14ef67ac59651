"""A file set: consecutive records of a topic partition whose files are closed together.

When a file set ends, all its files are closed, so that nothing of the state that decides about later file sets is older
than the first offset of the next file set. A task that starts again at that offset makes the same file sets and writes
the same files. The rules depend only on the records of the file set; the exception is the clock, see
file_set_journal.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from runtime.connectors.files.sink.chunk import Chunk
from runtime.connectors.files.sink.content import Content, RowBuffer


@dataclass(slots=True)
class OpenFile:
    """A file whose records are collected. `path` is relative to the sink's folder."""

    path: str
    buffer: RowBuffer
    records: int = 0


@dataclass(slots=True)
class FileSet:
    """The open file set of a partition. `opened` is the time of a clock in seconds."""

    start: int  # offset of the first record
    opened: float
    first_time: int | None  # of the first record, in milliseconds since 1970
    records: int = 0
    size: int = 0  # bytes in Kafka
    end: int = 0  # offset after the last record
    contents: dict[str, Content] = field(default_factory=dict)  # by topic
    files: dict[tuple[str, str], OpenFile] = field(default_factory=dict)  # by topic and folder

    def discard(self) -> None:
        """Drops the collected records."""
        for file in self.files.values():
            file.buffer.discard()


@dataclass(frozen=True, slots=True)
class RotationRules:
    """When a file set ends. None turns a rule off."""

    records: int
    size: int | None = None
    interval: int | None = None  # milliseconds between the first record and the first record of the next file set

    @property
    def need_time(self) -> bool:
        """Whether the rules depend on the time of records."""
        return self.interval is not None

    def room(self, file_set: FileSet | None, chunk: Chunk, times: Sequence[int | None]) -> int:
        """How many records of the chunk belong to the file set, or to a new one: those before the first record that
        starts another file set, and up to the record that fills the file set. 0 if the file set ends here."""
        if file_set is not None and self.full(file_set):
            return 0
        used, size = (file_set.records, file_set.size) if file_set is not None else (0, 0)
        room = min(len(chunk), self.records - used)
        if self.size is not None and room > 0:
            limit = self.size - size
            sums = accumulate(chunk.part(0, room).sizes())
            room = next((index + 1 for index, total in enumerate(sums) if total >= limit), room)
        if self.interval is not None and room > 0:
            first = file_set.first_time if file_set is not None else times[0]
            room = self._within_interval(first, times[:room])
        return room

    def _within_interval(self, first: int | None, times: Sequence[int | None]) -> int:
        assert self.interval is not None
        if first is None:
            return len(times)
        end = first + self.interval
        return next((place for place, time in enumerate(times) if time is not None and time >= end), len(times))

    def full(self, file_set: FileSet) -> bool:
        """Whether the file set ends after its last record."""
        return file_set.records >= self.records or (self.size is not None and file_set.size >= self.size)
