"""Writes the records of one topic partition: assigns them to file sets and files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import DataError
from runtime.connectors.files.sink.chunk import Chunk
from runtime.connectors.files.sink.content import Accepted, Content
from runtime.connectors.files.sink.file_set import FileSet, OpenFile, RotationRules
from runtime.connectors.files.sink.file_set_journal import FileSetJournal
from runtime.connectors.files.sink.ownership import PartitionOwner
from runtime.connectors.files.sink.partitioner import Partitioner, record_times, topic_folder
from runtime.connectors.files.sink.uploads import PendingFileSet, Uploads

_OFFSET_DIGITS = 12
_NOT_TOGETHER = "it has other types than those made of the same record, with which it must be in one file"


@dataclass(frozen=True, slots=True)
class WritingRules:
    """What the writers of a task have in common."""

    rotation: RotationRules
    partitioner: Partitioner
    timestamp_field: str
    extension: str
    content: Callable[[], Content]
    clock: Callable[[], float]
    report: Callable[[SinkRecord, Exception], None]

    @property
    def need_time(self) -> bool:
        """Whether the time of records matters."""
        return self.rotation.need_time or self.partitioner.needs_time


class PartitionWriter:
    """The open file set of a partition, and the closed file sets whose files are being written."""

    def __init__(
        self,
        tp: TopicPartition,
        rules: WritingRules,
        uploads: Uploads,
        owner: PartitionOwner,
        journal: FileSetJournal | None,
    ) -> None:
        """`journal` is None if the clock ends no file sets."""
        self._tp, self._rules, self._uploads, self._journal = tp, rules, uploads, journal
        self.owner = owner
        self._first: int | None = None  # offset from which this task has read
        self._next = 0  # offset after the last record
        self._restart: int | None = None  # offset from which the records of a dropped file set are read again
        self.file_set: FileSet | None = None
        self.pending: deque[PendingFileSet] = deque()

    @property
    def uncommitted(self) -> int | None:
        """The offset of the first record whose file is not complete; None if all files are. Raises the error of a file
        that could not be written."""
        while self.pending and self.pending[0].done:
            self.pending.popleft()
        if self.pending:
            return self.pending[0].start
        return self._restart if self.file_set is None else self.file_set.start

    @property
    def memory(self) -> int:
        """Bytes of collected records in memory."""
        return 0 if self.file_set is None else sum(file.buffer.size for file in self.file_set.files.values())

    def follows(self, chunk: Chunk, same_put: bool) -> bool:
        """Whether records may be added: they start behind the last ones, or at or before the start of the open file
        set, which is then dropped. `same_put`: the last ones are of the same put, and may have been made of the same
        record, with another topic or schema."""
        start = chunk.offset(0)
        if self.file_set is None or start >= self._next - same_put:
            return True
        if start > self.file_set.start:
            return False
        self.discard()
        return True

    def restart(self) -> int:
        """Drops the open file set. Returns its first offset, from which its records have to be read again."""
        if self.file_set is not None:
            self._restart = self.file_set.start
            self.discard()
        assert self._restart is not None
        return self._restart

    def fail(self, start: int | None) -> None:
        """A put has failed that began when the file set from `start` was open; None: when none was. No later offset is
        committed, so that the next task makes the same file sets, and replaces files that have records of that put."""
        if self.file_set is not None:
            self.restart()
        if start is not None:
            self._restart = start

    def append(self, chunk: Chunk) -> None:
        """Adds records, which follow those before them."""
        if self._first is None:
            self._first = chunk.offset(0)
        self._next, self._restart = chunk.offset(len(chunk) - 1) + 1, None
        rules = self._rules
        times = record_times(chunk, rules.timestamp_field) if rules.need_time else [None] * len(chunk)
        if refused := self._refused(chunk, times):
            for place in sorted(refused):
                rules.report(chunk.record(place), DataError(refused[place]))
            kept = [place for place in range(len(chunk)) if place not in refused]
            chunk, times = chunk.only(kept), [times[place] for place in kept]
        done = 0
        while done < len(chunk):
            done += self._add_some(chunk.part(done, len(chunk)), times[done:])

    def close_full(self) -> None:
        """Ends the open file set if it is full; at the end of a put, since records of the same offset may follow in
        it."""
        if self.file_set is not None and self._rules.rotation.full(self.file_set):
            self.close_cut()

    def close_cut(self, by_clock: bool = False) -> None:
        """Ends the open file set and writes its files. Raises FileError if the end cannot be stored; the set is then
        still open, since its records are nowhere else."""
        file_set = self.file_set
        if file_set is None:
            return
        if by_clock and self._journal is not None:
            self._journal.add(file_set.end, self._first or 0)
        files = [self._uploads.submit(file, self.owner) for file in file_set.files.values()]
        self.pending.append(PendingFileSet(file_set.start, file_set.end, files))
        self.file_set = None

    def spill(self) -> None:
        """Moves the collected records to temporary files."""
        for file in self.file_set.files.values() if self.file_set is not None else ():
            file.buffer.spill()

    def discard(self) -> None:
        """Drops the open file set: its records are read again."""
        if self.file_set is not None:
            self.file_set.discard()
            self.file_set = None

    def _add_some(self, chunk: Chunk, times: Sequence[int | None]) -> int:
        """Adds the first records to the open file set, or ends it. Returns how many records are done."""
        rules = self._rules
        room = self._room(chunk, times)
        if room == 0:
            self.close_cut()
            return 0
        part = chunk.part(0, room)
        start = chunk.offset(0) if self.file_set is None else self.file_set.start
        file_set = self.file_set or FileSet(start, rules.clock(), times[0])
        accepted = self._accepted(file_set, part)
        if accepted.count:
            self.file_set = file_set
            self._add(file_set, part.part(0, accepted.count), times[: accepted.count], accepted)
        if accepted.error is not None:
            rules.report(part.record(accepted.count), accepted.error)
            return accepted.count + 1
        if accepted.count < room:
            if file_set.records and part.offset(accepted.count) < file_set.end:  # a second file would replace the first
                rules.report(part.record(accepted.count), DataError(_NOT_TOGETHER))
                return accepted.count + 1
            self.close_cut()
        return accepted.count

    def _refused(self, chunk: Chunk, times: Sequence[int | None]) -> dict[int, str]:
        """The indices of records without a file, with the reasons."""
        refused = self._rules.partitioner.faults(chunk)
        if self._rules.need_time and None in times:
            refused |= {place: self._timeless() for place, time in enumerate(times) if time is None}
        return refused

    def _room(self, chunk: Chunk, times: Sequence[int | None]) -> int:
        room = self._rules.rotation.room(self.file_set, chunk, times)
        if self._journal is not None:
            start = chunk.offset(0) if self.file_set is None else self.file_set.start
            end = self._journal.next_end(start)
            if end is not None:
                room = min(room, chunk.first_at(end))
        return self._whole(chunk, room)

    def _whole(self, chunk: Chunk, room: int) -> int:
        """At least so many records, without dividing those that a transformation has made of one: the offset says where
        a file ends."""
        last = chunk.offset(room - 1) if room else -1 if self.file_set is None else self.file_set.end - 1
        while room < len(chunk) and chunk.offset(room) == last:
            room += 1
        return room

    def _accepted(self, file_set: FileSet, part: Chunk) -> Accepted:
        content = file_set.contents.get(part.topic)
        if content is None:
            content = file_set.contents[part.topic] = self._rules.content()
        return content.accept(part.values)

    def _add(self, file_set: FileSet, part: Chunk, times: Sequence[int | None], accepted: Accepted) -> None:
        rules, topic = self._rules, part.topic
        content = file_set.contents[topic]
        for folder, places in rules.partitioner.divide(part, times):
            file = file_set.files.get((topic, folder))
            if file is None:
                path = self._path(topic, folder, part.offset(places[0]))
                file = file_set.files[(topic, folder)] = OpenFile(path, content.buffer())
            rows: Any = accepted.rows if len(places) == len(part) else content.take(accepted.rows, places)
            file.buffer.add(rows)
            file.records += len(places)
        file_set.records += len(part)
        file_set.end = part.offset(len(part) - 1) + 1
        if rules.rotation.size is not None:
            file_set.size += sum(part.sizes())

    def _path(self, topic: str, folder: str, offset: int) -> str:
        """The name depends on the partition and the offset of the file's first record alone."""
        name = f"{self._tp.topic}+{self._tp.partition}+{offset:0{_OFFSET_DIGITS}d}{self._rules.extension}"
        return "/".join(filter(None, (topic_folder(topic), folder, name)))

    def _timeless(self) -> str:
        field = self._rules.timestamp_field
        return f"The record has no valid time in its field {field}" if field else "The record has no valid timestamp"
