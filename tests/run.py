"""`make test`: all tests in three processes, each with its own broker; failed tests run once more, alone.

Real brokers, JVMs and terminals on a shared machine make some tests fail for lack of processor time. A second try must
not hide that: the last lines list the tests that failed, with the failure of each try, and more than MAX_SECOND_TRIES
that passed only then fail the run. Exit codes are pytest's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

MAX_SECOND_TRIES = 3
"""Tests that may pass only on the second try."""

DISTRIBUTION = (
    "-n", "3", "--max-worker-restart", "0", "-p", "tests.distribution", "--no-loadscope-reorder", "--durations=40",
)  # fmt: skip
"""In the order of `tests.distribution`: xdist would start with the files of most tests. Three processes for two
processors: tests wait for two fifths of their time, for sessions, commits and polls. A process that crashes ends the
run: xdist would replace it, and then wait for ever.
"""

_CRASHED = "crashed while running"  # in the failure that xdist reports for a test whose process has ended

FAILED = 1
"""pytest's exit code when some tests failed, rather than when the run itself did."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed in the first try, with the first line of its failure."""

    test: str
    why: str


def main(options: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="headrace-test-run-") as folder:
        report, second = Path(folder, "first.xml"), Path(folder, "second.xml")
        busy, total = processor_time()
        with subprocess.Popen([sys.executable, "-m", "tests.support.packages.downloads"]) as downloads:
            try:
                code = _pytest(*DISTRIBUTION, f"--junitxml={report}", *options)
            finally:
                downloads.terminate()  # nobody waits for the rest
        after = processor_time()
        if report.exists():
            folders = [f"{folder} {seconds:.0f}" for folder, seconds in seconds_by_folder(report)[:16]]
            print(f"seconds by folder: {', '.join(folders)}")
        print(f"processors were busy for {(after[0] - busy) / max(after[1] - total, 1):.0%} of the time", flush=True)
        if code != FAILED:
            return code
        first = failures(report)
        if len(first) == number_of_tests(report):
            return code  # no test has run: an error of the collection
        if crash := next((failure for failure in first if _CRASHED in failure.why), None):
            print(f"\nA process crashed, and the run ended before all tests had run: {crash.why}")
            return code
        print(f"\n{len(first)} failed; running them once more, alone:", flush=True)
        code = _pytest("--last-failed", "--last-failed-no-failures", "none", f"--junitxml={second}", *options)
        again = failures(second) if second.exists() else first  # the process may end with its time limit
    print(summary(first, again))
    return code or (FAILED if len(first) > MAX_SECOND_TRIES else 0)


def summary(first: Sequence[Failure], again: Sequence[Failure]) -> str:
    """The last lines of a run in which tests failed in the first try: the tests that passed only on the second, then
    those that failed twice."""
    twice = {failure.test: failure.why for failure in again}
    once = [failure for failure in first if failure.test not in twice]
    lines = [f"\n{len(once)} tests passed only on the second try:"] if once else []
    lines += [f"  {failure.test}\n    {failure.why}" for failure in once]
    if len(once) > MAX_SECOND_TRIES:
        lines.append(f"Up to {MAX_SECOND_TRIES} are tolerated: find out why they failed.")
    whys = {failure.test: failure.why for failure in first}
    lines += [f"\n{len(twice)} tests failed twice:"] if twice else []
    lines += [f"  {test}\n    {whys.get(test, 'not run')}\n    {why}" for test, why in twice.items()]
    return "\n".join(lines)


def processor_time() -> tuple[int, int]:
    """The time for which the processors of this machine have been busy, and all their time, in ticks; zeros if it is
    unknown."""
    try:
        user, nice, system, idle, waiting, *others = map(
            int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
        )
    except (OSError, ValueError):
        return 0, 0
    busy = user + nice + system + sum(others)
    return busy, busy + idle + waiting


def failures(report: Path) -> list[Failure]:
    """The tests in a JUnit report that failed, or whose fixtures failed."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        for outcome in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found.append(
                Failure(name, (outcome.get("message") or "").splitlines()[0] if outcome.get("message") else "")
            )
            break
    return found


def number_of_tests(report: Path) -> int:
    """The number of tests in a JUnit report."""
    return sum(1 for _ in ElementTree.parse(report).iter("testcase"))


def seconds_by_folder(report: Path) -> list[tuple[str, float]]:
    """The seconds of all tests in a JUnit report by folder, two levels deep; the longest first."""
    seconds: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        seconds["/".join(case.get("classname", "").split(".")[1:3])] += float(case.get("time", "0"))
    return sorted(seconds.items(), key=lambda item: -item[1])


def _pytest(*options: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
