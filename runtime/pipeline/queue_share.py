"""The queue of a shared producer, divided among its tasks so that none of them can fill it."""

from __future__ import annotations

import threading

_LEAST = 64 * 1024  # bytes that a task may always hold, however many others are stuck


class SendQueue:
    """Bytes that all tasks together have handed to a producer and that Kafka has not acknowledged yet."""

    def __init__(self, size: int, parts: int) -> None:
        """Each task may hold one of so many parts of what is free."""
        self.size, self.parts = size, parts
        self.held = 0
        # Reentrant: garbage collection may release a share while the same thread takes one.
        self.lock = threading.RLock()


class Share:
    """One task's part of a queue. admits() and take() are the task's, release() any thread's.

    What a task may hold shrinks with what is free (the dynamic threshold of shared switch buffers): few tasks have
    plenty, and many stuck ones still leave room for those that keep moving.
    """

    def __init__(self, queue: SendQueue) -> None:
        self._queue = queue
        self.held = 0

    def admits(self, size: int) -> bool:
        """Whether `size` bytes more may be sent now. A task without any in the queue may always send a batch."""
        held, queue = self.held, self._queue
        return held == 0 or held + size <= max(_LEAST, (queue.size - queue.held) // queue.parts)

    def take(self, size: int) -> None:
        with self._queue.lock:
            self.held += size
            self._queue.held += size

    def release(self, size: int) -> None:
        with self._queue.lock:
            self.held -= size
            self._queue.held -= size
