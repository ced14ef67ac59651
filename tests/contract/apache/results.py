"""What JUnit reports about the tests of a class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True, slots=True)
class Result:
    """A test as `Class#method`, with the number of its parameters if it has some, and the first line of its failure;
    an empty one if it has passed."""

    test: str
    failure: str
    seconds: float
    skipped: bool = False


def read_report(file: Path) -> list[Result]:
    """The results in a JUnit report."""
    return [_result(case) for case in ElementTree.parse(file).iter("testcase")]


def _result(case: ElementTree.Element) -> Result:
    failure = next((child for child in case if child.tag in ("failure", "error")), None)
    cls, name = case.get("classname", "").rpartition(".")[2], case.get("name", "")
    method, _, number = name.partition("(")[0], *name.partition("[")[1:]
    test = f"{cls}#{method}" + (f"[{number}" if number else "")
    text = "" if failure is None else _first_line(failure)
    return Result(test, text, float(case.get("time", "0")), case.find("skipped") is not None)


def _first_line(failure: ElementTree.Element) -> str:
    lines = [line for line in (failure.text or failure.get("message") or "").splitlines() if line.strip()]
    return lines[0].strip() if lines else failure.get("type") or "failed"
