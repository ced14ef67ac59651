"""python -m tests.contract.differential [--seed N] [--size N] [--all] [--only TEXT] [--limit N]

Prints undeclared differences between the classes of Apache Connect and Headrace, by kind.
"""

from __future__ import annotations

import argparse
from collections import Counter

from tests.contract.differential.declared import undeclared
from tests.contract.differential.run import Difference, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=12_000)
    parser.add_argument("--all", action="store_true", help="declared differences too")
    parser.add_argument("--only", default="", help="show differences whose case contains this text")
    parser.add_argument("--kind", default="", help="show differences of this kind")
    parser.add_argument("--limit", type=int, default=20)
    given = parser.parse_args()
    outcome = run(given.seed, given.size)
    print(f"Java {outcome.java}, {outcome.results} results, {outcome.columns} of them as columns")
    differences = outcome.differences if given.all else undeclared(outcome)
    for (op, name, kind), count in sorted(Counter(map(_label, differences)).items()):
        print(f"{count:6} {op} {name} {kind}")
    shown = [found for found in differences if given.only in str(found) and given.kind in found.kind]
    for found in shown[: given.limit]:
        print(found)


def _label(found: Difference) -> tuple[str, str, str]:
    return found.case["op"], found.case.get("class", "").rpartition(".")[2], found.kind


main()
