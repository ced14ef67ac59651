"""The list of failures in the first try of `make test`."""

from __future__ import annotations

from pathlib import Path

from tests.run import Failure, failures

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_one[x]">
<failure message="AssertionError: not so&#10;more">long</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_two"/>
<testcase classname="tests.unit.test_b" name="test_three"><error message="a fixture">long</error></testcase>
<testcase classname="tests.unit.test_b" name="test_four"><skipped message="no Java"/></testcase>
</testsuite></testsuites>"""


def test_failures_of_a_first_try_are_named_with_their_first_line(tmp_path: Path) -> None:
    report = tmp_path / "first.xml"
    report.write_text(REPORT)
    assert failures(report) == [
        Failure("tests.unit.test_a::test_one[x]", "AssertionError: not so"),
        Failure("tests.unit.test_b::test_three", "a fixture"),
    ]
