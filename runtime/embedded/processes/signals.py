"""StopSignals: turns SIGINT, SIGTERM and SIGHUP into an exception that can be deferred."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal requested the end. A BaseException, so that only the outermost frame catches it."""


class StopSignals:
    """Raises Stopped in the main thread on a signal, or at the end of a deferred() block during which it arrived."""

    def __init__(self) -> None:
        self._deferred = False
        self._pending = False

    def install(self) -> None:
        for number in _STOPPING:
            signal.signal(number, self._on_signal)

    def ignore(self) -> None:
        """Ignores further signals while the process ends."""
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self._pending:
            raise Stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._deferred:
            self._pending = True
        else:
            raise Stopped
