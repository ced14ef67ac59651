"""`make soak`: converters and transformations against Apache's classes, then sequences of requests against Apache's
worker, then hostile requests, then chaos with and without exactly-once sources, then start storms; the tables go into
docs/benchmarks.md.

python -m tests.soak [--seconds 1800] [--differential 5] [--sequences 1200] [--fuzz 600] [--connectors 3000]
                     [--restarts 4] [--seed N] [--dry]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import report
from tests.soak.chaos.__main__ import chaos
from tests.soak.chaos.run import Plan
from tests.soak.differential import differences
from tests.soak.fuzz import fuzz_worker
from tests.soak.sequences.run import compare
from tests.soak.storm import sound, storm, table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800, help="of chaos; without exactly-once support a tenth")
    parser.add_argument("--differential", type=int, default=5, help="seeds of generated records")
    parser.add_argument("--sequences", type=float, default=1200, help="seconds of sequences, half exactly-once")
    parser.add_argument("--fuzz", type=float, default=600, help="seconds of hostile requests")
    parser.add_argument("--connectors", type=int, default=3000, help="of the start storm")
    parser.add_argument("--restarts", type=int, default=4, help="of the start storm")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    found = differences(given.seed, given.differential)
    print(*found[:20], sep="\n")
    differing = compare(given.seed, given.sequences)
    with tempfile.TemporaryDirectory(prefix="headrace-fuzz-") as folder:
        fuzzed = fuzz_worker(Path(folder), given.fuzz, given.seed)
    print(fuzzed.summary(), *fuzzed.trouble, sep="\n", flush=True)
    wild = [
        chaos(Plan(given.seed, given.seconds)),
        chaos(Plan(given.seed, given.seconds / 10, exactly_once=False)),
    ]
    with tempfile.TemporaryDirectory(prefix="headrace-storm-") as folder:
        storms = storm(Path(folder), given.connectors, given.restarts, neighbours=1, timeout=240)
    calm = sound(storms, given.connectors, limit=25)
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, seed {given.seed}, load average {report.busy()}"
        suffered = "\n\n".join(account.summary() for account in wild)
        report.section("Soak", f"`make soak`, {when}: {suffered}\n\n{fuzzed.summary()}")
        report.section("Start storms", f"`make soak`, {when}, beside a process that only computes:\n\n{table(storms)}")
    lossless = all(account.sound for account in wild)
    return 0 if lossless and calm and fuzzed.sound and not found and not differing else 1


if __name__ == "__main__":
    sys.exit(main())
