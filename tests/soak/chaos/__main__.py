"""python -m tests.soak.chaos [--seconds 1800] [--seed N] [--at-least-once] [--without-changes] [--only FAULT …]
                           [--plan] [--folder FOLDER]

Exit code 1 with any violation; the logs are then kept."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from itertools import islice
from pathlib import Path

from tests.soak.chaos.plan import FAULTS, rounds
from tests.soak.chaos.run import Account, Plan, chaos_soak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--at-least-once", action="store_true", help="workers without exactly-once support")
    parser.add_argument("--without-changes", action="store_true", help="connectors change only during frozen starts")
    parser.add_argument("--only", nargs="+", default=FAULTS, choices=FAULTS, metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--plan", action="store_true", help="print the first rounds of faults only")
    parser.add_argument("--folder", type=Path, help="for data and logs; kept")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    if given.plan:
        for number, faults in enumerate(islice(rounds(given.seed, tuple(given.only)), 10), 1):
            print(f"round {number}", *faults, sep="\n  ")
        return 0
    plan = Plan(
        given.seed, given.seconds, faults=tuple(given.only), exactly_once=not given.at_least_once,
        changes=not given.without_changes,
    )  # fmt: skip
    return 0 if chaos(plan, given.folder).sound else 1


def chaos(plan: Plan, keep: Path | None = None) -> Account:
    """Runs the plan and prints the result; data and logs are kept in a folder after any violation."""
    folder = keep or Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    account = chaos_soak(folder, plan)
    print(account.summary(), *account.verdict.faults, *account.faults, *account.orphans, sep="\n")
    print("answers after which a request was repeated:", *account.refusals.most_common(), sep="\n  ")
    if account.sound and not keep:
        shutil.rmtree(folder)
    else:
        print(f"logs: {folder}", flush=True)
    return account


if __name__ == "__main__":
    sys.exit(main())
