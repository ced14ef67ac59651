"""A slot's tasks start a few at a time: hundreds at once would share its interpreter so thinly that none gets anywhere,
nor the thread that asks for the lease."""

from __future__ import annotations

import threading

from runtime.engine.wire import Key

_ABREAST = 4
_PATIENCE = 1.0  # seconds that one waits for others, whose start may hang


class Turnstile:
    """Thread-safe. A task that has entered has to leave; leaving twice, or without having entered, is no harm."""

    def __init__(self, abreast: int = _ABREAST, patience: float = _PATIENCE) -> None:
        self._free = threading.Semaphore(abreast)
        self._patience = patience
        self._lock = threading.Lock()
        self._within: set[Key] = set()

    def enter(self, task: Key) -> None:
        """Returns when it is this task's turn, or when that takes too long."""
        if self._free.acquire(timeout=self._patience):
            with self._lock:
                self._within.add(task)

    def leave(self, task: Key) -> None:
        """The task has started, or never will."""
        with self._lock:
            if task not in self._within:
                return
            self._within.discard(task)
        self._free.release()
