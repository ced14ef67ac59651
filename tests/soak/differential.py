"""Random cases through Apache's own classes and through Headrace, many more than in `make test`."""

from __future__ import annotations

from tests.contract.differential.declared import undeclared
from tests.contract.differential.run import run

_SIZE = 60_000  # generated cases of a seed


def differences(seed: int, runs: int) -> list[str]:
    """The undeclared differences for `runs` seeds from this one on; prints a line for each."""
    found: list[str] = []
    for number in range(seed, seed + runs):
        outcome = run(number, _SIZE)
        new = undeclared(outcome)
        print(f"differential, seed {number}: {outcome.results:,} results, {len(new)} differ undeclared", flush=True)
        found += map(str, new)
    return found
