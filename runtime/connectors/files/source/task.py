"""The task of FilesSource: reads one file after another, each from the row at which it has stopped."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.connectors.files.folder_store import FileError, FolderStore, ListedFile
from runtime.connectors.files.source.cursor import PATH, FileCursor
from runtime.connectors.files.source.definition import ARCHIVED, LEAVE, FilesSourceSettings
from runtime.connectors.files.source.listing import FileListing
from runtime.connectors.files.source.opened_file import ChangedError, UnreadableError

if TYPE_CHECKING:
    from runtime.connectors.files.source.file_readers import FileReading


class Progress(Enum):
    """What is left to do with a file that has not changed since it was listed."""

    UNREAD = auto()
    READ = auto()  # read to its momentary end, before it was finished
    FINAL = auto()  # read to its end, and finished
    SKIPPED = auto()  # unreadable, also if it changes


@dataclass(slots=True)
class FollowedFile:
    """A file as it was last listed. It is unchanged since `since`, in seconds of a monotonic clock."""

    file: ListedFile
    cursor: FileCursor
    since: float
    progress: Progress = Progress.UNREAD


class FollowedFiles:
    """By their paths. A file is finished when it has not been modified for `finished_after` seconds."""

    def __init__(self, finished_after: float, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        self._after, self._clock, self._wall_clock = finished_after, clock, wall_clock
        self._files: dict[str, FollowedFile] = {}

    def unknown(self, files: Iterable[ListedFile]) -> list[ListedFile]:
        """Those that have not been added."""
        return [file for file in files if file.path not in self._files]

    def add(self, file: ListedFile, cursor: FileCursor) -> None:
        """Follows a file, which has been read up to a cursor."""
        self._files[file.path] = FollowedFile(file, cursor, self._clock())

    def get(self, path: str) -> FollowedFile:
        """A file that has been added."""
        return self._files[path]

    def forget(self, path: str) -> None:
        """Follows a file no longer; another of its name is a new one."""
        self._files.pop(path, None)

    def due(self, files: Iterable[ListedFile]) -> Iterator[FollowedFile]:
        """Those of the listed files of which something is left to do."""
        for file in files:
            followed = self._files[file.path]
            if file != followed.file:
                followed.file, followed.since = file, self._clock()
                if followed.progress is not Progress.SKIPPED:
                    followed.progress = Progress.UNREAD
            if followed.progress is Progress.UNREAD or (
                followed.progress is Progress.READ and self.is_finished(followed)
            ):
                yield followed

    def is_finished(self, followed: FollowedFile) -> bool:
        """Whether no more is expected to be written to the file, by its time or, where clocks differ or there is no
        time, by the time for which it has been seen unchanged."""
        modified = followed.file.modified
        age = None if modified is None else self._wall_clock() - modified / 1000
        return (age is not None and age >= self._after) or self._clock() - followed.since >= self._after


_log = logging.getLogger(__name__)


class FilesSourceTask(SourceTask):
    """Reads the files of its share in order, and lists the folder again when it has read them."""

    reuses_records = False

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        """`clock` in seconds measures the time between listings, `wall_clock` the age of files."""
        super().__init__()
        self._clock, self._wall_clock = clock, wall_clock
        self._reading: FileReading | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = FilesSourceSettings.of(config)
        self._removes = settings.finished != LEAVE
        self._store: FolderStore = FolderStore(settings.location)
        self._listing: FileListing = FileListing(self._store, settings, self._wall_clock)
        finished_after = 0 if self._store.appears_whole else settings.finished_after
        self._followed = FollowedFiles(finished_after, self._clock, self._wall_clock)
        self._queue: deque[FollowedFile] = deque()
        self._finished: deque[FollowedFile] = deque()  # files to remove once their last offsets are committed
        self._next_listing = self._clock()
        self._list_when_due()  # in start(), the committed offsets need no request

    def poll(self) -> Sequence[SourceRecord] | None:
        while self._reading is not None or self._open_next():
            if (batch := self._next_batch()) is not None:
                return batch
        return None

    def commit(self) -> None:
        self._remove_finished()

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.close()

    def _open_next(self) -> bool:
        """Opens the next file; False if there is none."""
        from runtime.connectors.files.source.file_readers import FileReading

        if not self._queue:
            self._list_when_due()
        if not self._queue:
            self.idle_poll = max(min(self._next_listing - self._clock(), 1.0), 0.01)
            return False
        followed = self._queue.popleft()
        finished = self._followed.is_finished(followed)
        _log.debug("Reading %s from row %d", followed.file.path, followed.cursor.row)
        self._reading = FileReading(self._store, self._settings, followed.file, followed.cursor, finished)
        return True

    def _next_batch(self) -> Sequence[SourceRecord] | None:
        """The next rows of the open file, which is closed after the last."""
        reading = self._reading
        assert reading is not None
        followed = self._followed.get(reading.file.path)
        try:
            batch = reading.next()
        except FileError as error:
            self._close(reading)
            self._fail(followed, reading, error)
            return None
        followed.cursor = reading.cursor
        if batch is None:
            self._close(reading)
            self._end(followed, reading.finished)
        return batch

    def _end(self, followed: FollowedFile, finished: bool) -> None:
        """After the last row that a file has now."""
        is_final = finished or (not self._removes and followed.cursor.is_at_end_of(followed.file))
        followed.progress = Progress.FINAL if is_final else Progress.READ
        if finished and self._removes and followed.cursor.row and self._store.is_unchanged(followed.file):
            self._finish(followed)

    def _fail(self, followed: FollowedFile, reading: FileReading, error: FileError) -> None:
        """Raises the error of a file, unless it may disappear or files that cannot be read are skipped."""
        if isinstance(error, UnreadableError) and error.incomplete and not reading.finished:
            _log.debug("%s; trying again when the file has changed or is finished", error)
            followed.progress = Progress.READ
        elif isinstance(error, ChangedError) and self._removes and followed.cursor.done:
            self._queue.appendleft(followed)  # another file, written before the finished one was removed
            followed.cursor = FileCursor()
        elif not self._settings.skips:
            raise error
        else:
            _log.error("%s. Skipping the file after row %d", error, followed.cursor.row)
            followed.progress = Progress.SKIPPED

    def _list_when_due(self) -> None:
        if self._clock() < self._next_listing:
            return
        files = self._listing.files()
        self._next_listing = self._clock() + self._settings.poll_interval
        new = self._followed.unknown(files)
        offsets = self.context.offsets.offsets([{PATH: file.path} for file in new]) if new else []
        for file, offset in zip(new, offsets, strict=True):
            cursor = FileCursor.of(offset)
            replaces = self._removes and cursor.done and not cursor.is_of(file)
            self._followed.add(file, FileCursor() if replaces else cursor)  # the file that was read has been removed
        for followed in self._followed.due(files):
            if not followed.cursor.is_at_end_of(followed.file):
                self._queue.append(followed)
            else:
                self._end(followed, self._followed.is_finished(followed))

    def _finish(self, followed: FollowedFile) -> None:
        """Has a finished file removed after it has been committed that nothing of it is left to read."""
        if not followed.cursor.done:
            file = followed.file
            followed.cursor = replace(followed.cursor, done=True, size=file.size, modified=file.modified)
            self.context.add_offsets([({PATH: file.path}, followed.cursor.offset)])
            self.context.request_commit()
        self._finished.append(followed)

    def _remove_finished(self) -> None:
        """Archives or deletes files whose last offsets are committed."""
        offsets = self.context.offsets.offsets([{PATH: followed.file.path} for followed in self._finished])
        for offset in offsets:
            if not FileCursor.of(offset).done:
                return  # files are finished in the order in which they were read
            followed = self._finished.popleft()
            self._remove(followed)

    def _remove(self, followed: FollowedFile) -> None:
        path, archive = followed.file.path, self._settings.archive
        if not self._store.is_unchanged(followed.file):
            return  # the next listing shows the change
        if self._settings.finished == ARCHIVED and archive is not None:
            self._store.move(path, archive.folder)
        else:
            self._store.delete(path)
        self._followed.forget(path)
        _log.info("%s: %s", "Archived" if self._settings.finished == ARCHIVED else "Deleted", path)

    def _close(self, reading: FileReading) -> None:
        self._reading = None
        reading.close()
