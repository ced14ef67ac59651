"""File locks between processes, which the kernel releases when their holder ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

LIMIT = 900.0
"""Seconds after which a process no longer waits for a lock."""

_CHECK_EVERY = 0.1  # seconds
_PATIENCE = 2.0  # seconds of waiting without a message


class LockHeldError(OSError):
    """Another process holds a lock for too long; the message names the process and the remedy."""


@contextmanager
def exclusive(file: Path, progress: TextIO | None = None, limit: float = LIMIT) -> Iterator[None]:
    """Holds the lock of this file for the block; waits for another holder, see HeldLock.wait()."""
    lock = HeldLock(file)
    try:
        lock.wait(progress, limit)
        yield
    finally:
        lock.release()


class HeldLock:
    """A lock that is held until release() or the end of the process. The file names its holder."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file, self._handle = file, file.open("a+")

    def take(self) -> bool:
        """Acquires the lock without waiting; False if another process holds it."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._handle.truncate(0)
        self._handle.write(str(os.getpid()))
        self._handle.flush()
        return True

    def wait(self, progress: TextIO | None = None, limit: float = LIMIT) -> None:
        """Acquires the lock when no other process holds it. Names the process on `progress` if that takes more than a
        moment. LockHeldError after `limit` seconds."""
        started, is_reported = time.monotonic(), False
        while not self.take():
            waited = time.monotonic() - started
            if waited > limit:
                raise LockHeldError(
                    f"{self._holder} has held the lock {self._file} for {waited:.0f} s: end it, or retry later"
                )
            if progress is not None and waited > _PATIENCE and not is_reported:
                is_reported = True
                print(f"waiting for {self._holder}, which holds {self._file}", file=progress, flush=True)
            time.sleep(_CHECK_EVERY)

    @property
    def _holder(self) -> str:
        return f"process {self._file.read_text() or 'unknown'}"

    def release(self) -> None:
        self._handle.close()
