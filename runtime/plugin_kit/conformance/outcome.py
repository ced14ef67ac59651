"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckFailed(AssertionError):
    """The plugin does not conform. `advice` says what to do."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}. {advice}" if advice else problem)
        self.problem, self.advice = problem, advice


class CheckSkipped(Exception):
    """The check does not apply to this plugin; the message is the reason."""


class Result(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check of one case. `detail` is what was found, or why the check failed or was skipped."""

    case: str
    check: str
    title: str
    result: Result
    detail: str = ""
    advice: str = ""
    seconds: float = 0.0
