"""Appending whole lines to a file, so that every line in it is whole whatever happened to the writers before."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from types import TracebackType

from runtime.api.errors import ConnectError

_TAIL_PIECE = 64 * 1024
_log = logging.getLogger(__name__)


class LineAppender:
    """A file that several tasks may append to, each whole lines at a time.

    A process that is killed while it writes leaves a torn line behind. The next writer moves it to `<file>.torn`
    before it appends, so nothing is lost and no line is mangled. An advisory lock keeps writers out of each other's
    appends; where the file system has no locks, one writer per file is safe.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConnectError(f"Cannot open {path}: {error.strerror}") from error
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._unsynced = False
        with self._locked():
            self._move_torn_tail()

    def append(self, lines: bytes) -> None:
        """All of it, or ConnectError with the system's reason; then a part may have been written."""
        self._unsynced = self._regular
        try:
            with self._locked():
                self._move_torn_tail()
                view = memoryview(lines)
                while view:
                    view = view[os.write(self._fd, view) :]
        except OSError as error:
            raise ConnectError(f"Cannot write to {self._path}: {error.strerror}") from error

    def sync(self) -> None:
        """What append() took survives the machine, too; ConnectError when the disk refuses."""
        if not self._unsynced:
            return
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise ConnectError(f"Cannot write to {self._path}: {error.strerror}") from error
        self._unsynced = False

    def close(self) -> None:
        os.close(self._fd)

    def _locked(self) -> _Lock:
        return _Lock(self._fd, self._regular)

    def _move_torn_tail(self) -> None:
        size = os.fstat(self._fd).st_size if self._regular else 0
        if size == 0 or os.pread(self._fd, 1, size - 1) == b"\n":
            return
        start = self._last_line_end(size)
        torn = f"{self._path}.torn"
        out = os.open(torn, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            for at in range(start, size, _TAIL_PIECE):
                os.write(out, os.pread(self._fd, min(_TAIL_PIECE, size - at), at))
            os.write(out, b"\n")
        finally:
            os.close(out)
        os.ftruncate(self._fd, start)
        _log.warning(
            "%s did not end with a line end: its last %d bytes, a line torn when a writer died, were moved to %s",
            self._path,
            size - start,
            torn,
        )

    def _last_line_end(self, size: int) -> int:
        """The position behind the last line feed before `size`."""
        end = size
        while end > 0:
            start = max(0, end - _TAIL_PIECE)
            found = os.pread(self._fd, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0


class _Lock:
    """An advisory lock on an open file; none where there are no locks."""

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
