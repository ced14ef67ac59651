"""File locks between processes, which the kernel releases when their holder ends."""

from __future__ import annotations

import fcntl
from pathlib import Path


class HeldLock:
    """A lock that is acquired without waiting and held until release() or the end of the process."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._handle = file.open("a")

    def take(self) -> bool:
        """Acquires the lock; False if another process holds it."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        self._handle.close()
