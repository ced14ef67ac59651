"""Reports changes of files, so that tasks need not poll them.

inotify (Linux) reports changes at once, except changes made by another host on a network file system and changes of a
file that does not exist yet. One thread therefore checks all files periodically: a stat() call for each is far cheaper
than waking each follower's thread.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_MODIFY, _ATTRIB, _DELETE_SELF, _MOVE_SELF, _ONESHOT = 0x2, 0x4, 0x400, 0x800, 0x80000000
_CHANGES = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name (none: files are watched, not folders)
_CHECK_INTERVAL = 2.0  # seconds between checks of all files
_CHECK_INTERVAL_UNWATCHED = 0.25  # while some files have no watch

_log = logging.getLogger(__name__)

State = tuple[int, ...] | None
"""The result of stat(); None if the file does not exist."""


@dataclass(frozen=True, slots=True, eq=False)
class Follower:
    """Waits for the next change of a file."""

    path: str
    state: State  # at the start of the wait
    changed: Callable[[], None]
    watch: int  # inotify's watch descriptor; negative if there is none


class FileWatcher:
    """One inotify instance and one thread for all files that are followed in this process. Thread-safe."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._lock = threading.Lock()
        self._watched: dict[int, list[Follower]] = {}  # by watch descriptor
        self._unwatched: list[Follower] = []
        threading.Thread(target=self._run, name="file-watch", daemon=True).start()

    def watch_once(self, path: str, changed: Callable[[], None]) -> Follower:
        """Calls `changed` once, from another thread, after the next change of the file: at once if the system reports
        it, otherwise within two seconds. A missing file changes when it appears. Followers of a file share a watch."""
        state = _state(path)  # outside the lock: a hanging file system must not delay followers of other files
        with self._lock:
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), _CHANGES | _ONESHOT)
            follower = Follower(path, state, changed, watch)
            self._others(follower).append(follower)
            return follower

    def cancel(self, follower: Follower) -> bool:
        """Stops reporting to this follower; True if it was still waiting."""
        with self._lock:
            others = self._others(follower)
            known = follower in others
            if known:
                others.remove(follower)
            if not others and follower.watch >= 0:
                del self._watched[follower.watch]
                self._libc.inotify_rm_watch(self._fd, follower.watch)
            return known

    def _others(self, follower: Follower) -> list[Follower]:
        return self._unwatched if follower.watch < 0 else self._watched.setdefault(follower.watch, [])

    def _run(self) -> None:
        checked = time.monotonic()
        while True:
            due = checked + (_CHECK_INTERVAL_UNWATCHED if self._unwatched else _CHECK_INTERVAL)
            if self._poll.poll(max(due - time.monotonic(), 0.0) * 1000):
                self._take_events()
            if time.monotonic() >= due:
                self._check_all()
                checked = time.monotonic()

    def _take_events(self) -> None:
        events = os.read(self._fd, 64 * 1024)
        for watch in {_EVENT.unpack_from(events, at)[0] for at in range(0, len(events), _EVENT.size)}:
            with self._lock:
                followers = self._watched.pop(watch, [])
            for follower in followers:
                _report(follower)

    def _check_all(self) -> None:
        """Finds changes that inotify did not report."""
        with self._lock:
            waiting = [*self._unwatched, *(follower for followers in self._watched.values() for follower in followers)]
        for follower in waiting:
            if _state(follower.path) != follower.state and self.cancel(follower):
                _report(follower)


def _state(path: str) -> State:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _report(follower: Follower) -> None:
    try:
        follower.changed()
    except Exception:  # a failing callback must not affect other followers
        _log.exception("Could not report a change of %s", follower.path)


@functools.cache
def file_watcher() -> FileWatcher | None:
    """The watcher of this process; None without inotify."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return FileWatcher()
    except OSError as error:
        _log.info("Tasks check their files ten times a second because inotify is not available (%s)", error.strerror)
        return None
