"""The runner of Apache's tests: reports, and the list of expected differences. `make apache-suite` runs the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.apache import class_paths
from tests.contract.apache.expected import EXPECTED, Difference, judge, read_expected
from tests.contract.apache.jvm import Run, installed_java, run_class
from tests.contract.apache.results import Result, read_report
from tests.support.packages.debian import PackageMissing, skip_unless_ci

_DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"
_MOST = 12
"""Tests that may fail because of an intended difference."""


def test_results_of_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuite>
        <testcase name="testA()" classname="org.apache.ATest" time="1.5"/>
        <testcase name="testB(boolean)[2]" classname="org.apache.ATest" time="2">
          <failure message="x" type="y"><![CDATA[\norg.E: expected 1\n\tat a.b]]></failure></testcase>
        <testcase name="testC(TestInfo)" classname="org.apache.ATest" time="0"><skipped>no</skipped></testcase>
        </testsuite>"""
    )
    assert read_report(report) == [
        Result("ATest#testA", "", 1.5),
        Result("ATest#testB[2]", "org.E: expected 1", 2),
        Result("ATest#testC", "", 0, skipped=True),
    ]


def test_unexpected_failures_and_unexpected_passes() -> None:
    expected = {"A#b": Difference("reason", ""), "A#c": Difference("other", ""), "A#d": Difference("skipped", "")}
    results = [
        *(Result("A#a", "broke", 1), Result("A#b", "as expected", 1), Result("A#c", "", 1)),
        *(Result("A#d", "", 0, skipped=True), Result("A#e", "", 1)),
    ]
    assert judge(results, expected) == [
        "failed: A#a: broke",
        "passed, although expected.toml says: A#c: other",
    ]


def test_each_expected_difference_is_documented() -> None:
    expected = read_expected(EXPECTED)
    rows = {row.strip() for row in re.findall(r"^\| ([^|]+)\|", _DIFFERENCES.read_text("utf-8"), re.MULTILINE)}
    assert not {difference.row for difference in expected.values()} - rows - {""}
    assert sum(1 for difference in expected.values() if difference.row) <= _MOST


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_validation(tmp_path: Path) -> None:
    """The class with the most tests for its time: 28 on one worker, for 24 s of processor time."""
    try:
        java = installed_java()
    except PackageMissing as missing:
        skip_unless_ci(missing)
    run = Run(class_paths.build(), java, tmp_path, apache=False, limit=300)
    results = run_class(run, "ConnectorValidationIntegrationTest", [])
    assert len(results) == 28
    assert judge(results, read_expected(EXPECTED)) == []
