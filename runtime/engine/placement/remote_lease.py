"""The worker's view of the lease of a slot on another machine."""

from __future__ import annotations

import threading

from runtime.engine.protocol.lease_cell import NEVER

GRACE = 1.0
"""Seconds after the end of its lease within which the process of a slot ends: timers, and clocks of different speed."""


class RemoteLease:
    """Has the methods of a LeaseCell. The slot asks for renewals; until then it has what it was promised. Thread-safe:
    granted by the thread of the leases, promised by the thread of the connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadline = float(NEVER)
        self._revoked = False
        self._promised = 0.0

    def grant(self, deadline: float) -> None:
        """Let the slot renew its lease until `deadline`."""
        with self._lock:
            self._deadline = deadline

    def revoke(self) -> None:
        """Renew the lease no more."""
        with self._lock:
            self._revoked = True

    @property
    def deadline(self) -> float:
        """The time until which the lease may be renewed; 0 before the first grant."""
        with self._lock:
            return self._deadline

    def lapsed(self, now: float) -> bool:
        """Whether the lease was granted and can no longer be renewed."""
        with self._lock:
            return self._deadline > NEVER and (self._revoked or self._deadline <= now)

    def promise(self, now: float) -> float:
        """The seconds for which the slot may work from `now`; 0 if its lease is not renewed. The answer to the slot."""
        with self._lock:
            if self._revoked or self._deadline <= now:
                return 0.0
            self._promised = max(self._promised, self._deadline)
            return self._deadline - now

    @property
    def free_from(self) -> float:
        """The time from which the process of the slot has certainly ended, if the lease is not renewed again."""
        with self._lock:
            return self._promised + GRACE if self._promised else 0.0
