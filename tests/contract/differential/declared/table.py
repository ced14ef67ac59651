"""What a declared difference is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.contract.differential.run import Difference


@dataclass(frozen=True, slots=True)
class Declared:
    """A difference that is meant. `row` is how its row in docs/differences.md begins; `covers` says which differences
    are of its kind; `until` is the last Java version that shows it."""

    row: str
    covers: Callable[[Difference], bool]
    until: int | None = None

    def occurs_on(self, java: int) -> bool:
        return self.until is None or java <= self.until


def of(difference: Difference, op: str, name: str = "") -> bool:
    """Whether a difference is of an operation, and of a class whose name ends so."""
    return bool(difference.case["op"] == op and difference.case.get("class", "").endswith(name))
