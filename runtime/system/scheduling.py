"""Scheduling delay: how long threads have waited for a processor, as counted by the kernel (schedstat).

A process that does not respond is either blocked by its own code or waits for a processor; the delay tells which.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def wait_of(pid: int, thread: int) -> float:
    """Seconds that a thread has waited on a run queue since its start; 0 if the kernel does not report it."""
    try:
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def waits(pid: int) -> Mapping[int, float]:
    """wait_of() for every thread of a process; empty if the process has ended."""
    try:
        threads = [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return {}
    return {thread: wait_of(pid, thread) for thread in threads}


class Delay:
    """The scheduling delay of a process from now on; always 0 for None, a process on another machine."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._before = self._waits()
        self.seconds = 0.0

    def look(self) -> float:
        """Seconds during which at least one thread had to wait: a lower bound, summed over all calls."""
        now = self._waits()
        self.seconds += max((wait - self._before.get(thread, wait) for thread, wait in now.items()), default=0.0)
        self._before = now
        return self.seconds

    def _waits(self) -> Mapping[int, float]:
        return {} if self._pid is None else waits(self._pid)
