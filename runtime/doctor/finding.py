"""One line of the doctor's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"  # works all the same, or is needed for something else only
    BAD = "BAD"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and what to do where that is not good enough."""

    level: Level
    what: str
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.level:<5} {self.what:<10} {self.found}"
        return f"{line}: {self.remedy}" if self.remedy else line


def ok(what: str, found: str) -> Finding:
    return Finding(Level.OK, what, found)


def note(what: str, found: str, remedy: str) -> Finding:
    return Finding(Level.NOTE, what, found, remedy)


def bad(what: str, found: str, remedy: str) -> Finding:
    return Finding(Level.BAD, what, found, remedy)
