"""How long a process had to wait for a processor, as the kernel counts it for each thread (schedstat).

A slot that does not answer is either held up by a task or does not get to run. Only the first is its own fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def waits(pid: int) -> Mapping[int, float]:
    """Seconds that each thread of a process has waited on a run queue since its start; empty where nobody counts."""
    found = {}
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found[int(thread.name)] = int((thread / "schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        pass  # threads come and go; the process may have ended
    return found


class Delay:
    """The scheduling delay of a process from now on."""

    def __init__(self, pid: int) -> None:
        self._pid, self._before = pid, waits(pid)
        self.seconds = 0.0

    def look(self) -> float:
        """Seconds during which at least one thread had to wait, a lower bound summed from look to look."""
        now = waits(self._pid)
        self.seconds += max((wait - self._before.get(thread, wait) for thread, wait in now.items()), default=0.0)
        self._before = now
        return self.seconds
