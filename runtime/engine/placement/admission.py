"""Limit of the tasks that a slot starts at once: it rises while the slot answers quickly and falls when it is slow.

Hundreds of tasks that start at once in one interpreter starve each other and the thread that talks to the worker. The
right number depends on the machine and on the connectors, so it is measured.
"""

from __future__ import annotations

from runtime.engine.protocol.task_specs import Key

FIRST_WINDOW, MAX_WINDOW = 4.0, 32.0
"""Tasks starting at once: initial value and maximum."""

QUICK_ACK = 0.2
"""Seconds within which a slot that is not overloaded acknowledges a start."""

HANG_TIMEOUT = 1.0
"""Seconds after which an acknowledged but unfinished start no longer counts, since the connector's code is waiting."""


class Admission:
    """The starts of one slot. Times are seconds of one clock."""

    def __init__(self, first: float = FIRST_WINDOW, not_before: float = 0.0) -> None:
        self.window = first
        self._not_before = not_before
        self._pending: dict[Key, float] = {}  # time of sending, oldest first
        self._acknowledged: set[Key] = set()

    @property
    def starting(self) -> int:
        """Tasks that have been sent and have not started yet."""
        return len(self._pending)

    def sent(self, task: Key, now: float) -> None:
        """A task has been sent to the slot."""
        self._pending[task] = now

    def acknowledged(self, task: Key, now: float) -> None:
        """The slot has read the request; the delay shows how busy the slot is."""
        sent = self._pending.get(task)
        if sent is None:
            return
        self._acknowledged.add(task)
        quick = now - sent <= QUICK_ACK
        self.window = min(self.window + 1, MAX_WINDOW) if quick else max(self.window * 0.7, 1.0)

    def finished(self, task: Key) -> None:
        """The task has started, failed or ended."""
        self._pending.pop(task, None)
        self._acknowledged.discard(task)

    def is_open(self, now: float) -> bool:
        """Whether one more task may be sent now."""
        if now < self._not_before:
            return False
        return self.busy(now) < int(self.window)

    def responds(self, now: float) -> bool:
        """Whether a task should wait for this slot: not during a pause, nor while the slot acknowledges no start."""
        unread = (sent for task, sent in self._pending.items() if task not in self._acknowledged)
        return now >= self._not_before and now - next(unread, now) <= HANG_TIMEOUT

    def busy(self, now: float) -> int:
        """Tasks that are starting, without those whose start hangs."""
        hanging = sum(1 for task in self._acknowledged if now - self._pending[task] > HANG_TIMEOUT)
        return len(self._pending) - hanging
