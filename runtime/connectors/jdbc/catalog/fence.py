"""Transactions that are open at some moment. After they have ended, every row that they have written is visible."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from sqlalchemy import Connection

REGISTRATION = 0.1
"""Seconds that pass at most from the start of a statement, whose time its rows get, until its transaction is listed."""

SOURCE_NAME = "headrace source"
"""The name of sessions that only read, in PostgreSQL's `application_name`: sources do not wait for each other."""


class Fence(Protocol):
    """Waits for the transactions that were open when it was made."""

    def remaining(self, connection: Connection) -> Collection[str]:
        """Those that are still open, for messages. Each call needs a transaction of its own, since databases may
        show the same list throughout one."""


class ListedTransaction(NamedTuple):
    """A transaction by its identifier in the database. `session` is None if it is prepared for a two-phase commit."""

    id: str
    session: int | None

    def __str__(self) -> str:
        return f"prepared transaction {self.id}" if self.session is None else f"session {self.session}"


class ListedFence:
    """For databases that list their open transactions."""

    def __init__(self, connection: Connection, listed: Callable[[Connection], Collection[ListedTransaction]]) -> None:
        """`listed` returns the transactions that are open now, without the connection's own."""
        self._listed = listed
        self._waiting = frozenset(listed(connection))

    def remaining(self, connection: Connection) -> Collection[str]:
        listed = frozenset(self._listed(connection)) if self._waiting else self._waiting
        still = self._waiting & listed
        if any(transaction.session is not None for transaction in self._waiting - listed):
            # It has ended, or is prepared and so has another identifier. This happens once for each session, so that a
            # constant load of prepared transactions does not make the wait endless.
            still |= {transaction for transaction in listed if transaction.session is None}
        self._waiting = still
        return sorted(map(str, still))
