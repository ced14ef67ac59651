"""What other threads ask of a running task, and how its own thread hears of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.pipeline.task.errors import RevokedError
from runtime.pipeline.task.meter import Meter

if TYPE_CHECKING:
    from runtime.pipeline.task.error_counts import Counts


class StoppedError(BaseException):
    """The task is to stop, and the batch at hand is left as if it had never been read. No Exception: nobody on the way
    out takes it for a failure of a record."""


@dataclass(frozen=True, slots=True, eq=False)
class PluginCall:
    """The connector's code at work: which of its methods, and since when (time.monotonic())."""

    method: str
    since: float


class Control:
    """Stop, pause and revoke, set from any thread and looked at by the task's thread between batches."""

    def __init__(self, paused: bool, check_lease: Callable[[], None]) -> None:
        self.paused = paused
        self.stopping = False
        self.topics: set[str] = set()  # that have been reported as used by the task
        self.call: PluginCall | None = None  # what the watchdog looks at
        self.errors: Counts | None = None  # of the records, once there can be some
        self.meter = Meter()
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

    def wake(self) -> None:
        """The task's thread does not wait any longer: there is news for it."""
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

    @contextmanager
    def calling(self, method: str) -> Iterator[None]:
        """Around every call of the connector's code that may not come back."""
        self.call = PluginCall(method, time.monotonic())
        try:
            yield
        finally:
            self.call = None

    def wait(self, seconds: float) -> None:
        """Sleep for that long, or until somebody asks something of the task."""
        if self._changed.wait(seconds):
            self._changed.clear()
