"""`python -m tests.contract.apache [--apache] [CLASS[#METHOD] …]`: runs Apache's integration tests, all or these.

The failures are compared with `expected.toml`. The exit code is 1 if a test fails unexpectedly, or if one that is
expected to fail passes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.contract.apache import class_paths
from tests.contract.apache.expected import EXPECTED, judge, read_expected
from tests.contract.apache.jvm import Run, installed_java, run_class
from tests.contract.apache.results import Result

LIMIT = 3600.0
"""Seconds for a class. The longest, on two busy processors, takes half of that."""


def main(options: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.contract.apache", description=__doc__)
    parser.add_argument("--apache", action="store_true", help="on Apache's workers instead of Headrace's")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for a class")
    parser.add_argument("--at-once", type=int, default=1, metavar="CLASSES", help="in parallel, 1 unless given")
    parser.add_argument("tests", nargs="*", metavar="CLASS[#METHOD]")
    given = parser.parse_args(options)
    folder = Path(tempfile.mkdtemp(prefix="headrace-apache-suite-"))
    print(f"logs are in {folder}", flush=True)
    run = Run(class_paths.build(), installed_java(), folder, given.apache, given.limit)
    return run_all(run, _selected(given.tests or class_paths.test_classes()), given.at_once)


def run_all(run: Run, selected: dict[str, list[str]], at_once: int = 1) -> int:
    """Runs methods by class, all of a class if there are none; prints each result and the verdict."""
    results: list[Result] = []
    with ThreadPoolExecutor(at_once) as pool:
        for found in pool.map(partial(run_class, run), selected, selected.values()):
            for result in found:
                print(f"{result.seconds:7.1f} s  {_outcome(result)}  {result.test}  {result.failure[:300]}", flush=True)
            results += found
    problems = judge(results, {} if run.apache else read_expected(EXPECTED))
    passed = sum(not result.failure and not result.skipped for result in results)
    print("\n".join([f"{passed} of {len(results)} tests passed", *problems]))
    return 1 if problems or not results else 0


def _selected(tests: Iterable[str]) -> dict[str, list[str]]:
    selected: dict[str, list[str]] = {}
    for test in tests:
        cls, _, method = test.partition("#")
        selected.setdefault(cls, []).extend([method] if method else [])
    return selected


def _outcome(result: Result) -> str:
    return "failed " if result.failure else "skipped" if result.skipped else "passed "


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
