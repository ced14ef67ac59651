"""Tests of Apache's that fail on Headrace's workers because of a difference that is intended."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.contract.apache.results import Result

EXPECTED = Path(__file__).with_name("expected.toml")


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a test fails, with the first column of the row in docs/differences.md; an empty one if the test reaches into
    the process of Apache's worker instead of using its interfaces."""

    reason: str
    row: str


def read_expected(file: Path) -> dict[str, Difference]:
    """The differences by test."""
    entries = tomllib.loads(file.read_text())["difference"]
    return {test: Difference(entry["reason"], entry.get("row", "")) for entry in entries for test in entry["tests"]}


def judge(results: Iterable[Result], expected: Mapping[str, Difference]) -> list[str]:
    """A line for each test that failed unexpectedly, and for each that passed although it is expected to fail."""
    problems = []
    for result in results:
        difference = expected.get(result.test)
        if result.failure and difference is None:
            problems.append(f"failed: {result.test}: {result.failure}")
        elif difference is not None and not result.failure and not result.skipped:
            problems.append(f"passed, although expected.toml says: {result.test}: {difference.reason}")
    return problems
