"""The task of FilesSource: reads one file after another, each from the row at which it has stopped."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.connectors.files.source.cursor import PATH, FileCursor, offset_after
from runtime.connectors.files.source.definition import ARCHIVED, LEAVE, FilesSourceSettings

if TYPE_CHECKING:
    from runtime.connectors.files.folder_store import FolderStore, ListedFile
    from runtime.connectors.files.source.listing import FileListing

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

    def start(self, config: Mapping[str, str]) -> None:
        from runtime.connectors.files.folder_store import FolderStore
        from runtime.connectors.files.source.listing import FileListing

        self._settings = settings = FilesSourceSettings.of(config)
        self._store: FolderStore = FolderStore(settings.location)
        self._listing: FileListing = FileListing(self._store, settings, self._wall_clock)
        self._known: dict[str, FileCursor] = {}  # files that have been read or skipped in this run, or are done
        self._queue: deque[tuple[ListedFile, FileCursor]] = deque()
        self._reading: tuple[ListedFile, int, Iterator[tuple[ValueBatch, bool]]] | None = None
        self._finished: deque[str] = deque()  # paths of read files whose offsets may not be committed yet
        self._next_listing = self._clock()
        self._list_when_due()  # in start(), the committed offsets need no request

    def poll(self) -> Sequence[SourceRecord] | None:
        from runtime.connectors.files.folder_store import FileError

        while True:
            if self._reading is None and not self._open_next():
                return None
            assert self._reading is not None
            file, row, blocks = self._reading
            try:
                found = next(blocks, None)
            except FileError as error:
                self._close()
                if not self._settings.skips:
                    raise
                _log.error("%s. Skipping the file after row %d", error, row)
                continue
            if found is None:  # an empty file
                self._close()
                continue
            return self._batch(file, row, *found)

    def commit(self) -> None:
        self._finish_files()

    def stop(self) -> None:
        if getattr(self, "_reading", None) is not None:
            self._close()

    def _batch(self, file: ListedFile, row: int, values: ValueBatch, last: bool) -> SourceBatch:
        end = row + values.count
        assert self._reading is not None
        self._reading = (file, end, self._reading[2])
        if last:
            self._close()
            self._finished.append(file.path)
        return SourceBatch(
            {PATH: file.path},
            lambda n: offset_after(file, row + n + 1, last and row + n + 1 == end),
            self._settings.topic,
            values,
        )

    def _open_next(self) -> bool:
        """Opens the next file; False if there is none."""
        from runtime.connectors.files.folder_store import FileError
        from runtime.connectors.files.formats import format_of
        from runtime.connectors.files.source.file_readers import ReadSettings, blocks

        if not self._queue:
            self._list_when_due()
        if not self._queue:
            self.idle_poll = max(min(self._next_listing - self._clock(), 1.0), 0.01)
            return False
        file, cursor = self._queue.popleft()
        self._known[file.path] = cursor
        if cursor.row and not cursor.is_of(file):
            error = FileError(f"{file.path} has changed since its rows up to {cursor.row} were read")
            if not self._settings.skips:
                raise error
            _log.error("%s. Skipping the file", error)
            return self._open_next()
        settings = self._settings
        read = ReadSettings(settings.batch_size, settings.delimiter, settings.header, settings.columns)
        kind = settings.format or format_of(file.path)
        assert kind is not None
        _log.debug("Reading %s from row %d", file.path, cursor.row)
        self._reading = (file, cursor.row, blocks(self._store, file.path, kind, read, cursor.row))
        return True

    def _list_when_due(self) -> None:
        if self._clock() < self._next_listing:
            return
        files = [file for file in self._listing.files() if file.path not in self._known]
        self._next_listing = self._clock() + self._settings.poll_interval
        if not files:
            return
        offsets = self.context.offsets.offsets([{PATH: file.path} for file in files])
        for file, offset in zip(files, offsets, strict=True):
            cursor = FileCursor.of(offset)
            if cursor.done:
                self._already_read(file, cursor)
            else:
                self._queue.append((file, cursor))

    def _already_read(self, file: ListedFile, cursor: FileCursor) -> None:
        """Leaves a file alone, or finishes it now. A file that replaces one that was archived or deleted is read."""
        if self._settings.finished != LEAVE and not cursor.is_of(file):
            self._queue.append((file, FileCursor()))
            return
        self._known[file.path] = cursor
        if not cursor.is_of(file):
            _log.warning("%s has changed since it was read to its end; ignoring the change", file.path)
        elif self._settings.finished != LEAVE:
            self._finished.append(file.path)

    def _finish_files(self) -> None:
        """Archives or deletes files whose last offsets are committed."""
        settings = self._settings
        if settings.finished == LEAVE or not self._finished:
            self._finished.clear()
            return
        waiting = list(self._finished)
        offsets = self.context.offsets.offsets([{PATH: path} for path in waiting])
        for path, offset in zip(waiting, offsets, strict=True):
            if not FileCursor.of(offset).done:
                return  # files are finished in the order in which they were read
            if settings.finished == ARCHIVED and settings.archive is not None:
                self._store.move(path, settings.archive.folder)
            else:
                self._store.delete(path)
            self._finished.popleft()
            self._known.pop(path, None)
            _log.info("%s: %s", "Archived" if settings.finished == ARCHIVED else "Deleted", path)

    def _close(self) -> None:
        """Closes the open file."""
        reading, self._reading = self._reading, None
        close = None if reading is None else getattr(reading[2], "close", None)
        if close is not None:
            close()
