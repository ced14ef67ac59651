"""The suite again and again in random order, in turn with the machine's cache and with an empty one.

python -m tests.soak.repetition [--runs 30] [--seed N] [options and paths of pytest]

A failure ends the repetition; its seed repeats the order.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given, options = parser.parse_known_args()
    for number in range(given.runs):
        started, is_empty = time.monotonic(), bool(number % 2)
        code = run(given.seed + number, is_empty, options)
        cache = "an empty" if is_empty else "the machine's"
        seconds = time.monotonic() - started
        print(
            f"run {number + 1}: seed {given.seed + number}, {cache} cache, {seconds:.0f} s, exit code {code}",
            flush=True,
        )
        if code:
            return code
    return 0


def run(seed: int, is_empty: bool, options: Sequence[str]) -> int:
    """The exit code of one run of the suite."""
    with tempfile.TemporaryDirectory(prefix="headrace-cache-") if is_empty else nullcontext("") as cache:
        environment = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
        command = [sys.executable, "-m", "tests.run", "-p", "tests.random_order", f"--order-seed={seed}", *options]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
