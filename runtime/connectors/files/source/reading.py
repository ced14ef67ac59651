"""A file that is being read: its rows as batches of records."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.connectors.files.folder_store import FolderStore, ListedFile
from runtime.connectors.files.formats import format_of
from runtime.connectors.files.source.cursor import PATH, FileCursor
from runtime.connectors.files.source.definition import FilesSourceSettings
from runtime.connectors.files.source.file_readers import FileRows, ReadSettings, read_rows
from runtime.connectors.files.source.opened_file import OpenedFile


class FileReading:
    """Reads a file from a cursor on. `finished`: no more is expected to be written to the file."""

    def __init__(
        self, store: FolderStore, settings: FilesSourceSettings, file: ListedFile, cursor: FileCursor, finished: bool
    ) -> None:
        self.file, self.cursor, self.finished = file, cursor, finished
        self._store, self._topic = store, settings.topic
        kind = settings.format or format_of(file.path)
        assert kind is not None
        read = ReadSettings(settings.batch_size, settings.delimiter, settings.header, settings.columns)
        self._rows = read_rows(OpenedFile(store, file, cursor, self._is_settled), kind, read)

    def next(self) -> SourceBatch | None:
        """The next rows; None if there are no more complete ones. Raises FileError if the file cannot be read."""
        rows = next(self._rows, None)
        return None if rows is None else self._batch(rows)

    def close(self) -> None:
        if isinstance(self._rows, Generator):
            self._rows.close()

    def _batch(self, rows: FileRows) -> SourceBatch:
        file = self.file

        def offset_of(number: int) -> Mapping[str, Any]:
            return FileCursor.after(file, rows.span, rows.first + number + 1).offset

        self.cursor = FileCursor.after(file, rows.span, rows.first + rows.values.count)
        return SourceBatch({PATH: file.path}, offset_of, self._topic, rows.values)

    def _is_settled(self) -> bool:
        """Whether what was read up to the end of the file is all that will be written."""
        return self.finished and self._store.is_unchanged(self.file)
