"""SQLSTATEs of errors after which the same statement may succeed later; for all connectors of databases."""

from __future__ import annotations

_RETRIABLE = (
    "08",  # connection
    "40",  # rolled back: serialization failure, deadlock
    "53",  # too few resources: connections, disk space, memory
    "57",  # an operator or a timeout has canceled the statement; the server shuts down or starts
    "58000",  # system error
    "58030",  # input or output error
    "55006",  # object in use
    "55P03",  # lock not available
    "25P03",  # the session was ended: idle in a transaction for too long
    "25P04",  # the session was ended: a transaction took too long
    "25006",  # read-only: the server has become a standby
)


def is_retriable(state: str) -> bool:
    """Whether the statement may succeed later."""
    return state.startswith(_RETRIABLE)
