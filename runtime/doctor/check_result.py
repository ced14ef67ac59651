"""The result of one check, printed as one line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckSeverity(StrEnum):
    """How much a result matters."""

    OK = "ok"
    NOTE = "note"  # works, or affects another use only
    BAD = "BAD"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The subject of a check, its result, and the remedy for a problem."""

    severity: CheckSeverity
    subject: str
    finding: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.severity:<5} {self.subject:<10} {self.finding}"
        return f"{line}: {self.remedy}" if self.remedy else line


def ok(subject: str, finding: str) -> CheckResult:
    return CheckResult(CheckSeverity.OK, subject, finding)


def note(subject: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(CheckSeverity.NOTE, subject, finding, remedy)


def bad(subject: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(CheckSeverity.BAD, subject, finding, remedy)
