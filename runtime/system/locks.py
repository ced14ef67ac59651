"""File locks between processes, which the kernel releases when their holder ends."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Holds the lock of this file for the block; waits for another holder."""
    lock = HeldLock(file)
    try:
        lock.wait()
        yield
    finally:
        lock.release()


class HeldLock:
    """A lock that is held until release() or the end of the process."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._handle = file.open("a")

    def take(self) -> bool:
        """Acquires the lock without waiting; False if another process holds it."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self) -> None:
        """Acquires the lock when no other process holds it."""
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def release(self) -> None:
        """Releases the lock, if it is held."""
        self._handle.close()
