"""How long a thread had to wait for a processor, as the kernel counts it (schedstat).

A process that does not answer is either held up by something in it or does not get to run. Only the first is its own
doing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def wait_of(pid: int, thread: int) -> float:
    """Seconds that a thread has waited on a run queue since its start; 0 where the kernel does not say."""
    try:
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def waits(pid: int) -> Mapping[int, float]:
    """wait_of() for every thread of a process; empty when the process has ended."""
    try:
        threads = [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return {}
    return {thread: wait_of(pid, thread) for thread in threads}


class Delay:
    """The scheduling delay of a process from now on."""

    def __init__(self, pid: int) -> None:
        self._pid, self._before = pid, waits(pid)
        self.seconds = 0.0

    def look(self) -> float:
        """Seconds during which at least one thread had to wait: a lower bound, added up from look to look."""
        now = waits(self._pid)
        self.seconds += max((wait - self._before.get(thread, wait) for thread, wait in now.items()), default=0.0)
        self._before = now
        return self.seconds
