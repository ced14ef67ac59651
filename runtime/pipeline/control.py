"""What other threads ask of a running task, and how its own thread hears of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.pipeline.port import RevokedError


class Control:
    """Stop, pause and revoke, set from any thread and looked at by the task's thread between batches."""

    def __init__(self, paused: bool, check_lease: Callable[[], None]) -> None:
        self.paused = paused
        self.stopping = False
        self.topics: set[str] = set()  # that have been reported as used by the task
        self._revoked = False
        self._check_lease = check_lease
        self._changed = threading.Event()

    def stop(self) -> None:
        self.stopping = True
        self._changed.set()

    def pause(self, paused: bool) -> None:
        self.paused = paused
        self._changed.set()

    def revoke(self) -> None:
        self._revoked = self.stopping = True
        self._changed.set()

    def forget_topics(self) -> None:
        """Topics are reported anew, each with its next record."""
        self.topics.clear()

    @property
    def revoked(self) -> bool:
        return self._revoked

    def check(self) -> None:
        """Before every put, produce and commit: RevokedError when they are no longer this task's to do."""
        if self._revoked:
            raise RevokedError("the task was revoked")
        self._check_lease()

    def wait(self, seconds: float) -> None:
        """Sleep for that long, or until somebody asks something of the task."""
        if self._changed.wait(seconds):
            self._changed.clear()
