"""What happened in a run: one line for each event, the digest of all of them, and how often each kind occurred."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

MANY = 3
"""More violations than this in one run tell nothing new."""


class Trace:
    """Events with their virtual times."""

    def __init__(self, clock: Callable[[], float], show: bool = False) -> None:
        self._clock, self._show = clock, show
        self.lines: list[str] = []
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()
        """Occurrences of the kinds of coverage.py."""
        self.on_many_violations: Callable[[], None] = lambda: None

    def add(self, what: str) -> None:
        line = f"{self._clock():10.4f} {what}"
        self.lines.append(line)
        if self._show:
            print(line)

    def violated(self, what: str) -> None:
        """Record that an invariant does not hold; the run goes on to its end, so that the trace is complete."""
        self.add(f"VIOLATION {what}")
        self.violations.append(what)
        if len(self.violations) > MANY:
            self.on_many_violations()

    def digest(self, *more: object) -> str:
        return hashlib.sha256("\n".join([*self.lines, *map(str, more)]).encode()).hexdigest()
