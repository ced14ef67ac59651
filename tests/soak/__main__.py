"""`make soak`: converters and transformations against Apache's classes, then kill -9 of every process at random under
load; its table goes into docs/benchmarks.md.

python -m tests.soak [--seconds 180] [--differential 5] [--seed N] [--dry]
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
from tests.soak.kills import soak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--differential", type=int, default=5, help="seeds of generated records")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    found = differences(given.seed, given.differential)
    print(*found[:20], sep="\n")
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as folder:
        account = soak(Path(folder), given.seconds, given.seed)
    print(account.table(), *account.orphans, *account.failed, sep="\n")
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, seed {given.seed}, load average {report.busy()}"
        report.section("Soak", f"`make soak`, {when}: {account.table()}")
    return 0 if account.sound and not found else 1


if __name__ == "__main__":
    sys.exit(main())
