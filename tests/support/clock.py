"""A clock that the test sets."""

from __future__ import annotations


class Clock:
    """Returns `now`, in seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
