"""`make soak`: converters and transformations against Apache's classes, then hostile requests, then kill -9 of every
process at random under load, then failures of workers in a group, then kills under exactly-once sources, then start
storms; the tables go into docs/benchmarks.md.

python -m tests.soak [--seconds 180] [--differential 5] [--fuzz 600] [--connectors 3000] [--restarts 4]
                     [--seed N] [--dry]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import report
from tests.soak.differential import differences
from tests.soak.exactly_once import Plan, exactly_once_soak
from tests.soak.fuzz import fuzz_worker
from tests.soak.group_kills import group_soak
from tests.soak.kills import soak
from tests.soak.storm import sound, storm, table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--differential", type=int, default=5, help="seeds of generated records")
    parser.add_argument("--fuzz", type=float, default=600, help="seconds of hostile requests")
    parser.add_argument("--connectors", type=int, default=3000, help="of the start storm")
    parser.add_argument("--restarts", type=int, default=4, help="of the start storm")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    found = differences(given.seed, given.differential)
    print(*found[:20], sep="\n")
    with tempfile.TemporaryDirectory(prefix="headrace-fuzz-") as folder:
        fuzzed = fuzz_worker(Path(folder), given.fuzz, given.seed)
    print(fuzzed.summary(), *fuzzed.trouble, sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as folder:
        account = soak(Path(folder), given.seconds, given.seed)
    print(account.table(), *account.orphans, *account.failed, sep="\n")
    with tempfile.TemporaryDirectory(prefix="headrace-group-") as folder:
        group = group_soak(Path(folder), given.seconds, given.seed)
    print(group.table(), *group.faults, *group.orphans, sep="\n")
    once = []
    for plan in (Plan(), Plan(exactly_once=False)):
        with tempfile.TemporaryDirectory(prefix="headrace-once-") as folder:
            once.append(exactly_once_soak(Path(folder), given.seed, plan))
        print(once[-1].summary(), *once[-1].faults, *once[-1].orphans, sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-storm-") as folder:
        storms = storm(Path(folder), given.connectors, given.restarts, neighbours=1, timeout=240)
    calm = sound(storms, given.connectors, limit=25)
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, seed {given.seed}, load average {report.busy()}"
        report.section("Soak", f"`make soak`, {when}: {account.table()}\n\n{fuzzed.summary()}")
        report.section("Workers in a group", f"`make soak`, {when}: {group.table()}")
        found_once = "\n\n".join(account.summary() for account in once)
        report.section("Exactly-once sources under kills", f"`make soak`, {when}: {found_once}")
        report.section("Start storms", f"`make soak`, {when}, beside a process that only computes:\n\n{table(storms)}")
    lossless = all(account.sound for account in once)
    return 0 if account.sound and group.sound and lossless and calm and fuzzed.sound and not found else 1


if __name__ == "__main__":
    sys.exit(main())
