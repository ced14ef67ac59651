"""Memory that the consumers of a slot may fill with records fetched ahead, shared among them."""

from __future__ import annotations

import threading

_SLOT = 256 * 1024  # KiB for all consumers of a slot
_MOST, _LEAST = 32 * 1024, 1024  # KiB for one: what a busy one needs to be fast, what any needs to go on


class FetchBudget:
    """Each consumer takes an eighth of what is left: a few get plenty, hundreds still get on. Thread-safe.

    The client cannot change its share later, so what a stopped consumer gives back is for those that come."""

    def __init__(self, total: int = _SLOT) -> None:
        self._left = total
        self._lock = threading.Lock()

    def take(self) -> int:
        """A share, in KiB."""
        with self._lock:
            share = max(_LEAST, min(_MOST, self._left // 8))
            self._left -= share
            return share

    def give_back(self, share: int) -> None:
        with self._lock:
            self._left += share


slot_budget = FetchBudget()
