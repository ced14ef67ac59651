"""Retries of idempotent requests through a short outage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tui.back_off import BackOff
from tui.client.client import is_transient
from tui.errors import Conflict, HeadraceError, ServerError, TimedOut, Unreachable, may_have_arrived

T = TypeVar("T")
Clock = Callable[[], float]
Report = Callable[[str], None]

OUTAGE_LIMIT = 60.0  # seconds without a response after which the operation fails
BACK_OFF = BackOff(0.25, 2.0)


def is_outage(error: HeadraceError) -> bool:
    """Whether the error is temporary: no response, a server error (5xx) or a rebalance."""
    if isinstance(error, Conflict):
        return is_transient(error)
    return isinstance(error, TimedOut | Unreachable | ServerError)


def is_response_lost(error: HeadraceError) -> bool:
    """Whether the worker gave no response, or one that says nothing of the outcome."""
    return isinstance(error, Unreachable) or may_have_arrived(error)


class Retry:
    """Retries the requests of one operation. After an outage beyond the limit each further request is sent once."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]], report: Report, clock: Clock) -> None:
        self._sleep, self._report, self._clock = sleep, report, clock
        self._outage_since: float | None = None

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Returns the response of `request`, which may be called several times. Raises the last error once the limit is
        reached, and immediately an error that is not an outage."""
        failures = 0
        while True:
            try:
                response = await request()
            except HeadraceError as error:
                if not is_outage(error):
                    self._outage_since = None
                    raise
                if self._is_too_long(error):
                    raise
            else:
                self._outage_ended()
                return response
            failures += 1
            await self._sleep(BACK_OFF.pause(failures))

    def _is_too_long(self, error: HeadraceError) -> bool:
        now = self._clock()
        if self._outage_since is None:
            self._outage_since = now
            self._report(f"{error.message}: retrying for up to {OUTAGE_LIMIT:g} s")
        return now - self._outage_since >= OUTAGE_LIMIT

    def _outage_ended(self) -> None:
        if self._outage_since is not None:
            self._outage_since = None
            self._report("the cluster is responding again")
