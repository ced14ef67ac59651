"""Divides the queue of a shared producer among its tasks, so that no task can fill the queue."""

from __future__ import annotations

import threading

_MIN_BYTES = 64 * 1024  # bytes that a task may always hold


class SendQueue:
    """The unacknowledged bytes of all tasks in a producer's queue."""

    def __init__(self, size: int, parts: int) -> None:
        """Each task may hold 1/`parts` of the free room."""
        self.size, self.parts = size, parts
        self.held = 0
        # Reentrant: garbage collection may release a share while the same thread takes one.
        self.lock = threading.RLock()


class Share:
    """One task's part of a queue. admits() and take() are for the task's thread, release() for any thread.

    The limit shrinks with the free room (the dynamic threshold of shared switch buffers): few tasks have plenty, and
    many stuck tasks still leave room for the others.
    """

    def __init__(self, queue: SendQueue) -> None:
        self._queue = queue
        self.held = 0

    def admits(self, size: int) -> bool:
        """Whether `size` more bytes may be sent now. A task with nothing in the queue may always send a batch."""
        held, queue = self.held, self._queue
        return held == 0 or held + size <= max(_MIN_BYTES, (queue.size - queue.held) // queue.parts)

    def take(self, size: int) -> None:
        """Count `size` bytes as queued."""
        with self._queue.lock:
            self.held += size
            self._queue.held += size

    def release(self, size: int) -> None:
        """Count `size` bytes as acknowledged."""
        with self._queue.lock:
            self.held -= size
            self._queue.held -= size
