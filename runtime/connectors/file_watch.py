"""Being told that a file has changed (inotify), so that its follower need not look all the time.

Linux only, and local file systems only: who is never told has to look now and then all the same.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import struct
import sys
import threading
from collections.abc import Callable

_MODIFY, _ATTRIB, _DELETE_SELF, _MOVE_SELF, _ONESHOT = 0x2, 0x4, 0x400, 0x800, 0x80000000
_CHANGES = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name (none: files are watched, not folders)

_log = logging.getLogger(__name__)


class FileWatcher:
    """One inotify instance and one thread for all files that are followed in this process. Thread-safe."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        threading.Thread(target=self._run, name="file-watch", daemon=True).start()

    def once(self, path: str, changed: Callable[[], None]) -> bool:
        """Call `changed`, from another thread, when the file changes for the first time from now on. Tasks that
        follow the same file share a watch. False when the file cannot be watched."""
        with self._lock:
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), _CHANGES | _ONESHOT)
            if watch < 0:
                return False
            self._waiting.setdefault(watch, []).append(changed)
            return True

    def _run(self) -> None:
        while True:
            events = os.read(self._fd, 64 * 1024)
            for watch in {_EVENT.unpack_from(events, at)[0] for at in range(0, len(events), _EVENT.size)}:
                with self._lock:
                    told = self._waiting.pop(watch, [])
                for changed in told:
                    _tell(changed)


def _tell(changed: Callable[[], None]) -> None:
    try:
        changed()
    except Exception:  # one follower's mistake must not leave the others without news
        _log.exception("A change of a file could not be told")


@functools.cache
def file_watcher() -> FileWatcher | None:
    """This process's watcher; None where there is no inotify."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return FileWatcher()
    except OSError as error:
        _log.info("Files are looked at ten times a second: changes are not told here (%s)", error.strerror)
        return None
