"""Converters, transformations, schemas and expressions against Apache Connect 4.3.0's own classes.

HEADRACE_DIFFERENTIAL_SEED and HEADRACE_DIFFERENTIAL_SIZE (generated cases) select other and longer runs; `python -m
tests.contract.differential` prints the differences.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.contract.differential.declared import DECLARED, undeclared
from tests.contract.differential.run import Outcome, run

SEED = int(os.environ.get("HEADRACE_DIFFERENTIAL_SEED", "1"))
SIZE = int(os.environ.get("HEADRACE_DIFFERENTIAL_SIZE", "15000"))
DOCUMENT = Path(__file__).parents[3] / "docs" / "differences.md"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(SEED, SIZE)


def test_all_differences_are_declared(outcome: Outcome) -> None:
    found = undeclared(outcome)
    assert not found, f"{len(found)} of {outcome.results} results, beginning with:\n" + "\n".join(map(str, found[:20]))


def test_every_declared_difference_occurs(outcome: Outcome) -> None:
    expected = [known for known in DECLARED if known.occurs_on(outcome.java)]
    missing = [known.row for known in expected if not any(map(known.covers, outcome.differences))]
    assert not missing, "declared, but no longer different: remove them here and from docs/differences.md"


@pytest.mark.skipif(SIZE < 15_000, reason="a shorter run")
def test_the_run_has_enough_results(outcome: Outcome) -> None:
    assert outcome.results >= 20_000
    assert outcome.columns >= 5_000


def test_every_declared_difference_is_documented() -> None:
    rows = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| ")]
    missing = {known.row for known in DECLARED if not any(row.startswith(f"| {known.row}") for row in rows)}
    assert not missing
