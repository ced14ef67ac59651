"""Positions in a topic as users write them: earliest, latest, a time, a duration ago, or a number of records.

The worker parses the same grammar in `runtime/herder/offsets/seek.py`, since neither half imports the other; both
are tested with the cases of `tests/support/topic_positions.json`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tui.errors import UsageError

EXAMPLES = ("1h ago", "30m ago", "1d ago", "earliest", "latest", "-100", "+100")
EXPECTED = (
    "earliest, latest, a time (2026-01-31T12:00:00Z), a duration ago (1h30m ago, -1h, PT1H), +N, -N, or an offset"
)

_EDGES = {"earliest": False, "beginning": False, "start": False, "latest": True, "end": True, "now": True}
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+)\s*s)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class EdgePosition:
    """The beginning or the end of the partition."""

    end: bool

    def __str__(self) -> str:
        return "latest" if self.end else "earliest"


@dataclass(frozen=True, slots=True)
class TimePosition:
    """The first record with this timestamp (milliseconds since 1970) or a later one."""

    milliseconds: int

    def __str__(self) -> str:
        at = datetime.fromtimestamp(self.milliseconds / 1000, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class RelativePosition:
    """A number of records after (or, if negative, before) the committed offset."""

    records: int

    def __str__(self) -> str:
        return f"{self.records:+d}"


@dataclass(frozen=True, slots=True)
class AbsolutePosition:
    """An offset."""

    offset: int

    def __str__(self) -> str:
        return str(self.offset)


Position = EdgePosition | TimePosition | RelativePosition | AbsolutePosition
"""`str` gives the canonical text, which Headrace workers understand as well."""


def parse(text: str, now: datetime | None = None) -> Position:
    """Parses what a user typed. A time without a zone is in UTC, and a time before 1970 is 1970. Raises UsageError."""
    word = text.strip()
    if word.lower() in _EDGES:
        return EdgePosition(_EDGES[word.lower()])
    if re.fullmatch(r"[+-]\d{1,18}", word, re.ASCII):
        return RelativePosition(int(word))
    if re.fullmatch(r"\d{1,18}", word, re.ASCII):
        return AbsolutePosition(int(word))
    now = now or datetime.now(UTC)
    try:
        ago = _duration(word)
        moment = now - ago if ago is not None else _time(word)
        return TimePosition(max(int(moment.timestamp() * 1000), 0))
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a valid position: expected {EXPECTED}") from None


def _duration(word: str) -> timedelta | None:
    bare = word.removeprefix("-").removesuffix("ago").strip()
    match = _ISO_DURATION.fullmatch(bare) or _DURATION.fullmatch(bare)
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _time(word: str) -> datetime:
    moment = datetime.fromisoformat(word)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
