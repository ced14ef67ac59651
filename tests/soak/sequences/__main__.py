"""python -m tests.soak.sequences [--seconds 600] [--seed N] [--shrink 60] [--exactly-once]

Runs sequences of consecutive seeds. The exit code is 1 if a response or a state has a difference that
docs/differences.md does not describe.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.sequences.run import SHRINKING, compare_workers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--shrink", type=float, default=SHRINKING, help="seconds for each difference")
    parser.add_argument("--exactly-once", action="store_true", help="exactly.once.source.support=enabled")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-sequences-") as folder:
        differences = compare_workers(Path(folder), given.seconds, given.seed, given.shrink, given.exactly_once)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
