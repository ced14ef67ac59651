"""Runs cases through the JVM and through Headrace, and collects the differences."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.differential import ours, referee
from tests.contract.differential.cases import generated, tables
from tests.contract.differential.compare import difference

Json = Any
_MOST = 8  # cases processed together


@dataclass(frozen=True, slots=True)
class Difference:
    """A result that differs from Java's. `way`: "single" or "columns"."""

    kind: str
    way: str
    case: Json
    java: Json
    ours: Json

    def __str__(self) -> str:
        shown = (json.dumps(part, ensure_ascii=True)[:1500] for part in (self.case, self.java, self.ours))
        return "{} ({})\n  case {}\n  java {}\n  ours {}".format(self.kind, self.way, *shown)


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    java: int
    results: int
    columns: int
    differences: list[Difference]


def run(seed: int, size: int) -> Outcome:
    """The tables and `size` generated cases."""
    return run_cases([*tables(), *generated(seed, size)])


def run_cases(cases: Sequence[Json]) -> Outcome:
    with referee.running(cases) as jvm:
        single = list(map(ours.answer, cases))
        columns = _columns(cases)
        java, expected = jvm.answers(len(cases))
    found = [
        Difference(kind, way, case, expected[n], answer)
        for way, answers in (("single", list(enumerate(single))), ("columns", columns))
        for n, answer in answers
        for case in (cases[n],)
        if (kind := difference(expected[n], answer)) is not None
    ]
    return Outcome(java, len(single) + len(columns), len(columns), found)


def _columns(cases: Sequence[Json]) -> list[tuple[int, Json]]:
    """Answers to cases processed together: each case with copies of itself, and all similar cases."""
    found: list[tuple[int, Json]] = []
    groups: dict[str, list[int]] = defaultdict(list)
    for n, case in enumerate(cases):
        if (shape := ours.alike(case)) is not None:
            groups[shape].append(n)
            answers = ours.answers_together([case, case])
            found += [(n, answer) for answer in answers or ()]
    for group in groups.values():
        for start in range(0, len(group), _MOST):
            part = group[start : start + _MOST]
            answers = ours.answers_together([cases[n] for n in part]) if len(part) > 1 else None
            found += zip(part, answers or (), strict=False)
    return found
