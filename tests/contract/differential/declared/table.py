"""The type of a declared difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.contract.differential.run import Difference


@dataclass(frozen=True, slots=True)
class Declared:
    """A deliberate difference. `row` is the beginning of its row in docs/differences.md; `covers` selects its
    differences; `until` is the last Java version that shows it."""

    row: str
    covers: Callable[[Difference], bool]
    until: int | None = None

    def occurs_on(self, java: int) -> bool:
        return self.until is None or java <= self.until


def of(difference: Difference, op: str, name: str = "") -> bool:
    """Whether a difference belongs to an operation and to a class whose name has this suffix."""
    return bool(difference.case["op"] == op and difference.case.get("class", "").endswith(name))
