"""Renews the leases of all slots from its own thread, so that a busy event loop does not stop the slots."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.engine.placement.remote_lease import RemoteLease
from runtime.engine.protocol.lease_cell import NEVER, LeaseCell
from runtime.system.lease_clock import lease_time

Cell = LeaseCell | RemoteLease


class LeaseGranter:
    """Extends every lease while the worker's membership in its group is confirmed. Thread-safe."""

    def __init__(
        self,
        lease: Callable[[], float],
        every: float,
        longest: float,
        clock: Callable[[], float] = lease_time,
        before: float = 0.0,
    ) -> None:
        """`lease` returns the seconds for which the membership is confirmed; leases are renewed `every` so many
        seconds, for `longest` at most, and expire so many seconds `before` the membership."""
        self._lease, self._every, self._longest, self._clock = lease, every, longest, clock
        self._before = before
        self._lock = threading.Lock()
        self._cells: set[Cell] = set()
        self._closing = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="leases", daemon=True).start()

    def close(self) -> None:
        """End the thread; leases are no longer renewed."""
        self._closing.set()

    def add(self, cell: Cell) -> None:
        """Grant this lease now, and renew it from now on."""
        with self._lock:
            self._cells.add(cell)
        self.renew()

    def revoke(self, cell: Cell) -> None:
        """End this lease permanently."""
        with self._lock:
            self._cells.discard(cell)
            cell.revoke()

    def revoke_granted(self) -> None:
        """End all leases that have been granted, permanently: the membership for which they were granted is lost. New
        slots get leases again as soon as the worker is a member again."""
        with self._lock:
            for cell in self._cells:
                if cell.deadline != NEVER:
                    cell.revoke()

    def renew(self) -> None:
        """Extend all leases that have not expired. While the membership is not confirmed, leases expire."""
        with self._lock:
            now = self._clock()  # first: this thread may have to wait for a processor between two lines
            remaining = min(self._longest, self._lease() - self._before)
            if remaining > 0:
                for cell in self._cells:
                    if not cell.lapsed(self._clock()):
                        cell.grant(now + remaining)

    def _run(self) -> None:
        while not self._closing.wait(self.pause):
            self.renew()

    @property
    def pause(self) -> float:
        """Seconds until the next renewal: fewer shortly before the membership expires, so that no lease expires
        although the membership was confirmed in time."""
        every, remaining = self._every, self._lease() - self._before
        return min(every, max(remaining / 2, every / 30)) if remaining > 0 else every
