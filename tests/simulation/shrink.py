"""Searches a failing run for a smaller one: fewer requests and faults that violate the same invariant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Violates = Callable[[Sequence[str]], bool]
"""Whether a run with only these requests and faults violates the invariant."""

MAX_RUNS = 300


def kind(violation: str) -> str:
    """The violation without names and numbers, by which those of two runs are compared."""
    text = re.sub(r"\b(?:[abk]|w\d)(?:-\d+)?\b|[@#/]\S*|\{[^}]*\}|\d+", "", violation.splitlines()[0])
    return " ".join(text.split())[:60]


def shrink(choices: Sequence[str], violates: Violates, max_runs: int = MAX_RUNS) -> Sequence[str]:
    """The choices without those that can be left out, by halves, quarters and so on (delta debugging)."""
    left, size, removed = list(choices), len(choices), True
    while max_runs > 0 and (size > 1 or removed):
        at, size, removed = 0, max(size // 2, 1), False
        while at < len(left) and max_runs > 0:
            smaller = left[:at] + left[at + size :]
            max_runs -= 1
            if violates(smaller):
                left, removed = smaller, True
            else:
                at += size
    return left
