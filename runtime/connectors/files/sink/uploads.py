"""Writes the files of closed file sets in threads of their own, with retries."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from runtime.connectors.files.folder_store import FileError
from runtime.connectors.files.sink.file_set import OpenFile
from runtime.connectors.files.sink.file_writers import WriteSettings, file_filler
from runtime.connectors.files.sink.ownership import PartitionOwner

_log = logging.getLogger(__name__)
_FIRST_DELAY, _LONGEST_DELAY = 0.5, 30.0  # seconds between attempts


@dataclass(frozen=True, slots=True)
class PendingFileSet:
    """A closed file set whose files are being written."""

    start: int
    end: int
    files: Sequence[Future[None]]

    @property
    def done(self) -> bool:
        """Whether all files are complete. Raises the error of a file that could not be written."""
        finished = [file for file in self.files if file.done()]
        for file in finished:
            file.result()
        return len(finished) == len(self.files)

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the files, for up to `timeout` seconds."""
        wait(self.files, timeout)


class Uploads:
    """The threads that write files. `written` is called in such a thread after each file."""

    def __init__(self, settings: WriteSettings, threads: int, retries: int, written: Callable[[], None]) -> None:
        self._settings, self._retries, self._written = settings, retries, written
        self._pool = ThreadPoolExecutor(threads, "files-sink")
        self._stopped = threading.Event()

    def submit(self, file: OpenFile, owner: PartitionOwner) -> Future[None]:
        """Writes a file of a partition."""
        return self._pool.submit(self._write, file, owner)

    def stop(self) -> None:
        """Waits for the files that are being written; others are not started."""
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _write(self, file: OpenFile, owner: PartitionOwner) -> None:
        try:
            self._write_with_retries(file, owner)
        finally:
            file.buffer.discard()
            self._written()

    def _write_with_retries(self, file: OpenFile, owner: PartitionOwner) -> None:
        delay = _FIRST_DELAY
        for left in range(self._retries, -1, -1):
            try:
                size = owner.write(file.path, file_filler(file.buffer, self._settings))
            except FileError as error:
                if not left or self._stopped.is_set():
                    raise
                _log.warning("%s; trying again in %.1f s", error, delay)
                self._stopped.wait(delay)
                delay = min(delay * 2, _LONGEST_DELAY)
            else:
                _log.debug("Wrote %s: %d records, %d bytes", file.path, file.records, size)
                return
