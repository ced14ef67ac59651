"""Rows that are committed late: a source reads up to a bound below which no transaction adds rows any more.

A transaction may commit a row with a smaller number, or an earlier timestamp, than those of rows that others have
committed before. So a bound is fixed first, then the transactions are listed that are open, and rows up to the bound
are read when all of those have ended. Later transactions get larger numbers and later timestamps.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from runtime.connectors.jdbc.catalog.fence import Fence

_log = logging.getLogger(__name__)

_FIRST_DELAY, _LONGEST_DELAY = 0.02, 1.0  # seconds between two checks of the open transactions
_LONG_WAIT = 60.0  # seconds after which a warning names the transactions


@dataclass(frozen=True, slots=True)
class Bound:
    """Rows with timestamps before `end` and numbers up to `highest` are read. None: all."""

    end: dt.datetime | None = None
    highest: Any = None

    def __str__(self) -> str:
        return f"before {self.end:%Y-%m-%d %H:%M:%S.%f %Z}" if self.highest is None else f"up to {self.highest}"


@dataclass(slots=True)
class _Wait:
    """A bound whose fence has not been passed."""

    bound: Bound
    fence: Fence
    since: float
    delay: float = _FIRST_DELAY
    warned: bool = False


class LateCommits:
    """The bounds of one reader, one after another."""

    def __init__(self, name: str, longest_wait: float, clock: Callable[[], float]) -> None:
        """`name` is that of the table for messages; `longest_wait` is in seconds, negative for no limit; `clock` is in
        seconds."""
        self._name, self._longest, self._clock = name, longest_wait, clock
        self._wait: _Wait | None = None

    @property
    def delay(self) -> float | None:
        """Seconds until settled() may return a bound; None if it waits for nothing."""
        return None if self._wait is None else self._wait.delay

    def begin(self, bound: Bound, fence: Fence) -> None:
        """Waits for a bound. Call it only while `delay` is None; the fence was made after the bound was read."""
        self._wait = _Wait(bound, fence, self._clock())

    def settled(self, connection: Connection) -> Bound | None:
        """The bound if no transaction adds rows below it any more. Ends the connection's transaction, so that the next
        statement sees all of these rows, whatever the isolation level."""
        wait = self._wait
        assert wait is not None
        remaining = sorted(wait.fence.remaining(connection))
        connection.rollback()
        if remaining and not self._is_over(wait, ", ".join(remaining)):
            wait.delay = min(2 * wait.delay, _LONGEST_DELAY)
            return None
        self._wait = None
        return wait.bound

    def forget(self) -> None:
        """Gives up the bound; the next connection may be one to another server, with other transactions."""
        self._wait = None

    def _is_over(self, wait: _Wait, transactions: str) -> bool:
        """Whether the time is over; a warning names the transactions then, and once during a long wait."""
        passed = self._clock() - wait.since
        if 0 <= self._longest <= passed:
            _log.warning(
                "%s: rows %s are read after %.1f s, although transactions are still open that may add others: %s "
                "(transaction.max.wait.ms)", self._name, wait.bound, passed, transactions
            )  # fmt: skip
            return True
        if passed >= _LONG_WAIT and not wait.warned:
            wait.warned = True
            _log.warning(
                "%s: rows %s have been waiting for %.0f s for transactions that may add others: %s. End them, or limit "
                "the wait with transaction.max.wait.ms", self._name, wait.bound, passed, transactions
            )  # fmt: skip
        return False
