"""Deliberate differences from Apache's classes. Each one names its row in docs/differences.md."""

from __future__ import annotations

from tests.contract.differential.declared import converters, transforms
from tests.contract.differential.declared.table import Declared
from tests.contract.differential.run import Difference, Outcome

DECLARED: tuple[Declared, ...] = (*converters.DECLARED, *transforms.DECLARED)


def undeclared(outcome: Outcome) -> list[Difference]:
    """The undeclared differences of a run."""
    return [one for one in outcome.differences if not any(known.covers(one) for known in DECLARED)]
