"""Divides the memory for prefetched messages among the consumers of a slot."""

from __future__ import annotations

import threading

_SLOT = 256 * 1024  # KiB for all consumers of a slot
MAX_SHARE, _MIN_SHARE = 32 * 1024, 1024  # KiB for one consumer: enough for full speed, and the least that works


class FetchBudget:
    """Each consumer takes an eighth of the free memory, so that hundreds of consumers still work. Thread-safe.

    A client cannot change its share later, so memory of stopped consumers is available to new ones only."""

    def __init__(self, total: int = _SLOT) -> None:
        self._left = total
        self._lock = threading.Lock()

    def take(self) -> int:
        """Take a share; returns its size in KiB."""
        with self._lock:
            share = max(_MIN_SHARE, min(MAX_SHARE, self._left // 8))
            self._left -= share
            return share

    def give_back(self, share: int) -> None:
        """Return a share of `share` KiB."""
        with self._lock:
            self._left += share


slot_budget = FetchBudget()
