"""Appends lines to a file, so that each line is complete even if an earlier writer died."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from types import TracebackType

from runtime.api.errors import ConnectError
from runtime.system.allowed_folders import allowed_folders

_TAIL_PIECE = 64 * 1024
_log = logging.getLogger(__name__)


class LineAppender:
    """A file to which several tasks may append complete lines.

    A process that is killed while it writes leaves an incomplete line. The next writer moves this line to `<file>.torn`
    before it appends. An advisory lock serializes writers; on a file system without locks, use one writer per file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._fd = allowed_folders().open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            raise ConnectError(f"Cannot open {path}: {error.strerror}") from error
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._unsynced = False
        try:
            with self._locked():
                self._move_torn_tail()
        except OSError as error:
            os.close(self._fd)
            raise ConnectError(self._failed(error)) from error

    def append(self, lines: bytes) -> None:
        """Writes all lines; ConnectError with the system's reason if that fails, as on a full disk. None of them is
        then in a file that other programs do not write."""
        self._unsynced = self._regular
        try:
            with self._locked():
                self._move_torn_tail()
                self._append(lines)
        except OSError as error:
            raise ConnectError(self._failed(error)) from error

    def _append(self, lines: bytes) -> None:
        size = os.fstat(self._fd).st_size
        view = memoryview(lines)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            if self._regular and os.fstat(self._fd).st_size == size + len(lines) - len(view):
                os.ftruncate(self._fd, size)  # what a full disk has taken would be written again
            raise

    def _failed(self, error: OSError) -> str:
        return f"Cannot write to {error.filename or self._path}: {error.strerror}"

    def sync(self) -> None:
        """Makes appended lines durable; ConnectError if the disk reports an error."""
        if not self._unsynced:
            return
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise ConnectError(self._failed(error)) from error
        self._unsynced = False

    def close(self) -> None:
        """Closes the file without syncing it."""
        os.close(self._fd)

    def _locked(self) -> _Lock:
        return _Lock(self._fd, self._regular)

    def _move_torn_tail(self) -> None:
        size = os.fstat(self._fd).st_size if self._regular else 0
        if size == 0 or os.pread(self._fd, 1, size - 1) == b"\n":
            return
        start = self._last_line_end(size)
        torn = f"{self._path}.torn"
        with os.fdopen(allowed_folders().open(torn, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as out:
            for at in range(start, size, _TAIL_PIECE):
                out.write(os.pread(self._fd, min(_TAIL_PIECE, size - at), at))
            out.write(b"\n")
        os.ftruncate(self._fd, start)
        _log.warning(
            "The last line of %s was incomplete: moved its %d bytes to %s (torn by a writer that died)",
            self._path,
            size - start,
            torn,
        )

    def _last_line_end(self, size: int) -> int:
        """The position after the last line feed before `size`."""
        end = size
        while end > 0:
            start = max(0, end - _TAIL_PIECE)
            newline = os.pread(self._fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0


class _Lock:
    """An advisory lock on an open file; does nothing if the file system has no locks."""

    def __init__(self, fd: int, wanted: bool) -> None:
        self._fd, self._held = fd, wanted

    def __enter__(self) -> None:
        if not self._held:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            self._held = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._held:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
