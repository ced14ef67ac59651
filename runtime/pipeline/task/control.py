"""Requests of other threads to a running task: stop, pause, revoke; and the topics that it uses (KIP-558)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.pipeline.task.failure import RevokedError
from runtime.pipeline.task.meter import Meter
from runtime.pipeline.task.throttle import Throttle, throttle_of

if TYPE_CHECKING:
    from runtime.model.rate_limit import RateLimit
    from runtime.pipeline.task.error_counts import Counts


class UsedTopics:
    """Topics that a task has used since the last reset, each to be reported once. use() is called on the task's thread,
    reset() on any other one."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._last_use: dict[str, float] = {}
        self._reported: set[str] = set()

    def use(self, topic: str) -> bool:
        """Note that a topic is used now; returns whether it has to be reported."""
        self._last_use[topic] = self._clock()  # before the check, since reset() relies on it
        if topic in self._reported:
            return False
        self._reported.add(topic)
        return True

    def reset(self, at: int) -> list[str]:
        """Forget topics that were used before a time, in milliseconds since 1970. Returns those used since, which have
        to be reported again: the request for a reset may arrive some time after the reset."""
        self._reported.clear()
        used = [topic for topic, last in list(self._last_use.items()) if last * 1000 >= at]
        self._reported.update(used)
        return used


class StoppedError(BaseException):
    """The task has to stop; the current batch is treated as if it had not been read. Not an Exception, so that no
    handler treats it as the failure of a record."""


@dataclass(frozen=True, slots=True, eq=False)
class PluginCall:
    """A running call of the connector: its method, and its start (time.monotonic())."""

    method: str
    since: float
    stack: Callable[[], str] | None = None  # of a plugin that does not run on the task's own thread


class TaskControl:
    """Stop, pause and revoke: set on any thread, checked by the task's thread between batches."""

    def __init__(self, paused: bool, check_lease: Callable[[], None], throttle: Throttle | None = None) -> None:
        self.paused = paused
        self.throttle = throttle  # None: no rate limit
        self.stopping = False
        self.topics = UsedTopics()
        self.call: PluginCall | None = None  # checked by the watchdog
        self.errors: Counts | None = None  # None before the first record
        self.meter = Meter()
        self.plugin_stack: Callable[[], str] | None = None  # of a task whose methods run on an event loop
        self._on_stop: list[Callable[[], None]] = []
        self._revoked = False
        self._check_lease = check_lease
        self._changed = threading.Event()

    def stop(self) -> None:
        """Ask the task to stop gracefully."""
        self.stopping = True
        self._stop_requested()

    def pause(self, paused: bool) -> None:
        """Pause or resume the task."""
        self.paused = paused
        self._changed.set()

    def limit(self, limit: RateLimit) -> None:
        """Change the task's rate limit."""
        self.throttle = throttle_of(limit)
        self._changed.set()

    def revoke(self) -> None:
        """Make the task end without further put, produce or commit."""
        self._revoked = self.stopping = True
        self._stop_requested()

    def on_stop(self, callback: Callable[[], None]) -> None:
        """`callback` is called when the task is to stop or is revoked, on the thread of that request."""
        self._on_stop.append(callback)

    def wake(self) -> None:
        """Wake the task's thread from wait()."""
        self._changed.set()

    @property
    def revoked(self) -> bool:
        """Whether the task was revoked."""
        return self._revoked

    def check(self) -> None:
        """Raises RevokedError if the task was revoked or the slot's lease has expired. Called before every put, produce
        and commit."""
        if self._revoked:
            raise RevokedError("the task was revoked")
        self._check_lease()

    @contextmanager
    def calling(self, method: str, stack: Callable[[], str] | None = None) -> Iterator[None]:
        """Wraps every call of the connector that may hang, for the watchdog. `stack`: of a call on another thread."""
        self.call = PluginCall(method, time.monotonic(), stack or self.plugin_stack)
        try:
            yield
        finally:
            self.call = None

    def wait(self, seconds: float) -> None:
        """Sleep for `seconds`, or until the next request."""
        if self._changed.wait(seconds):
            self._changed.clear()

    def _stop_requested(self) -> None:
        self._changed.set()
        for callback in self._on_stop:
            callback()
