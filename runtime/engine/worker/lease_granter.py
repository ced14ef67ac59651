"""Renews the leases of all slots, from a thread of its own: a busy event loop does not keep slots from working."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runtime.engine.protocol.lease_cell import LeaseCell


class LeaseGranter:
    """Extends every lease as long as the worker's membership in its group is confirmed. Thread-safe."""

    def __init__(self, lease: Callable[[], float], ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`lease`: the seconds for which the membership is confirmed; `ttl`: the longest lease in seconds."""
        self._lease, self._ttl, self._clock = lease, ttl, clock
        self._lock = threading.Lock()
        self._cells: set[LeaseCell] = set()
        self._closing = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="leases", daemon=True).start()

    def close(self) -> None:
        self._closing.set()

    def add(self, cell: LeaseCell) -> None:
        """Grant this lease now, and keep it granted."""
        with self._lock:
            self._cells.add(cell)
        self.look()

    def revoke(self, cell: LeaseCell) -> None:
        """End this lease for good."""
        with self._lock:
            self._cells.discard(cell)
            cell.revoke()

    def look(self) -> None:
        """Extend all leases that are not over; when the membership is not confirmed they run out by themselves."""
        with self._lock:
            remaining = min(self._ttl, self._lease())
            if remaining > 0:
                now = self._clock()
                for cell in self._cells:
                    if not cell.lapsed(now):
                        cell.grant(now + remaining)

    def _run(self) -> None:
        while not self._closing.wait(self.pause):
            self.look()

    @property
    def pause(self) -> float:
        """Seconds until the next look: fewer shortly before the membership runs out, so that no lease ends although
        the membership was confirmed in time."""
        every, remaining = self._ttl / 10, self._lease()
        return min(every, max(remaining / 2, every / 30)) if remaining > 0 else every
