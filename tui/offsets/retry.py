"""Bearing with a cluster that is away for a moment: what does the same when asked for twice is asked for again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tui.client.client import is_transient
from tui.errors import Conflict, HeadraceError, ServerError, TimedOut, Unreachable

T = TypeVar("T")
Clock = Callable[[], float]
Report = Callable[[str], None]

OUTAGE_LIMIT = 60.0  # seconds without an answer until the cluster is given up
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0  # seconds between two tries


def is_outage(error: HeadraceError) -> bool:
    """It passes by itself: nobody answers, or somebody who cannot now (5xx, a rebalance)."""
    if isinstance(error, Conflict):
        return is_transient(error)
    return isinstance(error, TimedOut | Unreachable | ServerError)


def is_answer_lost(error: HeadraceError) -> bool:
    """Nobody knows whether the request arrived: no answer, or a gateway's instead of the worker's own."""
    return isinstance(error, TimedOut | Unreachable) or (
        isinstance(error, ServerError) and error.status in (502, 503, 504)
    )


class Retry:
    """Of one operation. An outage is borne once: what comes after one that was too long is tried once more each."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]], report: Report, clock: Clock) -> None:
        self._sleep, self._report, self._clock = sleep, report, clock
        self._away_since: float | None = None

    async def call(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, as soon as there is one; raises what came last when the cluster stays away."""
        pause = FIRST_PAUSE
        while True:
            try:
                answer = await ask()
            except HeadraceError as error:
                if not is_outage(error):
                    self._away_since = None
                    raise
                if self._is_over(error):
                    raise
            else:
                self._answered()
                return answer
            await self._sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _is_over(self, error: HeadraceError) -> bool:
        now = self._clock()
        if self._away_since is None:
            self._away_since = now
            self._report(f"{error.message}: trying again for up to {OUTAGE_LIMIT:g} s")
        return now - self._away_since >= OUTAGE_LIMIT

    def _answered(self) -> None:
        if self._away_since is not None:
            self._away_since = None
            self._report("the cluster answers again")
