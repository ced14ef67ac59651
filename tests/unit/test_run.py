"""The list of failures in the first try of `make test`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.distribution import FolderScheduling, next_scope
from tests.random_order import shuffled
from tests.run import FAILED, Failure, failures, number_of_tests, processor_time, seconds_by_folder, summary
from tests.support.waiting import allowed

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_one[x]">
<failure message="AssertionError: not so&#10;more">long</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_two" time="0.5"/>
<testcase classname="tests.scenario.group.test_b" name="test_three" time="2.5">
<error message="a fixture">long</error></testcase>
<testcase classname="tests.scenario.group.test_c" name="test_four" time="1"><skipped message="no Java"/></testcase>
</testsuite></testsuites>"""


def test_failures_of_a_first_try_are_named_with_their_first_line(tmp_path: Path) -> None:
    report = tmp_path / "first.xml"
    report.write_text(REPORT)
    assert failures(report) == [
        Failure("tests.unit.test_a::test_one[x]", "AssertionError: not so"),
        Failure("tests.scenario.group.test_b::test_three", "a fixture"),
    ]


def test_the_seconds_of_tests_are_added_by_folder(tmp_path: Path) -> None:
    report = tmp_path / "first.xml"
    report.write_text(REPORT)
    assert seconds_by_folder(report) == [("scenario/group", 3.5), ("unit/test_a", 0.5)]


def test_an_error_of_the_collection_is_the_only_test_of_its_report(tmp_path: Path) -> None:
    report = tmp_path / "first.xml"
    report.write_text(
        '<testsuite><testcase name="gw0"><error message="other tests">long</error></testcase></testsuite>'
    )
    assert len(failures(report)) == number_of_tests(report) == 1


def test_the_last_lines_name_the_failures_of_both_tries() -> None:
    first = [Failure("tests.a::slow", "timed out"), Failure("tests.b::broken", "not so")]
    assert summary(first, []).splitlines()[-4:] == [
        "  tests.a::slow", "    timed out", "  tests.b::broken", "    not so",
    ]  # fmt: skip
    assert summary(first, [Failure("tests.b::broken", "again")]).splitlines() == [
        "", "1 tests passed only on the second try:", "  tests.a::slow", "    timed out",
        "", "1 tests failed twice:", "  tests.b::broken", "    not so", "    again",
    ]  # fmt: skip


def test_too_many_second_tries_are_reported() -> None:
    assert "Up to 3 are tolerated" in summary([Failure(f"tests.a::{n}", "") for n in range(4)], [])


def test_files_of_a_folder_with_shared_servers_run_in_one_process() -> None:
    def scope(test: str) -> str:
        return FolderScheduling._split_scope(object.__new__(FolderScheduling), test)

    assert scope("tests/scenario/java/test_a.py::test_x[1]") == scope("tests/scenario/java/test_b.py::test_y")
    assert scope("tests/scenario/test_a.py::test_x") == scope("tests/scenario/test_a.py::test_y")
    assert scope("tests/scenario/test_a.py::test_x") != scope("tests/scenario/test_b.py::test_x")


def test_the_first_process_computes_while_the_others_wait() -> None:
    queue = [
        "tests/scenario/test_a.py",
        "tests/tui/test_b.py",
        "tests/unit/runtime/test_c.py",
        "tests/unit/tui/test_d.py",
    ]
    assert next_scope(queue, is_first=True) == "tests/unit/runtime/test_c.py"
    assert next_scope(queue, is_first=False) == next_scope(queue[:2], is_first=True) == "tests/scenario/test_a.py"


def test_a_seed_determines_the_order_and_keeps_files_together() -> None:
    items: list[Any] = [SimpleNamespace(path=f"test_{file}.py", name=f"{file}{n}") for file in "abcd" for n in range(4)]
    orders = [[item.name for item in shuffled(items, seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == [item.name for item in items]
    assert all(len({name[0] for name in orders[0][at : at + 4]}) == 1 for at in range(0, 16, 4))


def test_processors_are_busy_for_a_part_of_their_time() -> None:
    busy, total = processor_time()
    assert 0 <= busy <= total


def test_a_process_that_crashes_ends_the_run(tmp_path: Path) -> None:
    """Without a second try, which would hide the tests that have not run."""
    for name in "abcd":
        tmp_path.joinpath(f"test_{name}.py").write_text("def test_passes() -> None: pass\n")
    crash = "import os, signal\n\ndef test_crashes() -> None:\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    tmp_path.joinpath("test_e.py").write_text(crash)
    command = [sys.executable, "-m", "tests.run", str(tmp_path), "-p", "no:cacheprovider"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=allowed(60), check=False)
    assert run.returncode == FAILED
    last = run.stdout.splitlines()[-1]
    assert last.startswith("A process crashed") and "test_crashes" in last
    assert "passed only on the second try" not in run.stdout
