"""Positions in a topic as users write them: earliest, latest, a time, a duration ago, or a number of records.

The console parses the same grammar in `tui/offsets/positions.py`, since console and worker do not import each other;
both parsers are tested with the cases of `tests/support/topic_positions.json`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runtime.herder.errors import BadRequest

_EDGES = {"earliest": False, "beginning": False, "start": False, "latest": True, "end": True, "now": True}
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+)\s*s)?", re.IGNORECASE | re.ASCII)
_EXPECTED = (
    "expected earliest, latest, a time (2026-01-31T12:00:00Z), a duration ago (1h30m ago, -1h, PT1H), +N or -N "
    "records, or an offset"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end of the partition."""

    end: bool


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record with this timestamp (milliseconds since 1970) or a later one."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Relative:
    """A number of records after (or, if negative, before) the committed offset."""

    records: int


@dataclass(frozen=True, slots=True)
class Absolute:
    """An offset."""

    offset: int


Moment = Edge | AtTime | Relative | Absolute


def parse(text: object, now: datetime) -> Moment:
    """Parses the text or whole number of a request. A time without a zone is in UTC, and a time before 1970 is 1970.
    Raises BadRequest, whose message lists the valid forms."""
    if isinstance(text, int) and not isinstance(text, bool) and 0 <= text < 10**18:
        return Absolute(text)
    word = text.strip() if isinstance(text, str) else ""
    if word.lower() in _EDGES:
        return Edge(_EDGES[word.lower()])
    if re.fullmatch(r"[+-]\d{1,18}", word, re.ASCII):
        return Relative(int(word))
    if re.fullmatch(r"\d{1,18}", word, re.ASCII):
        return Absolute(int(word))
    try:
        ago = _duration(word)
        moment = now - ago if ago is not None else _time(word)
        return AtTime(max(int(moment.timestamp() * 1000), 0))
    except (ValueError, OverflowError):
        raise BadRequest(f"'to' is {text!r}; {_EXPECTED}") from None


def _duration(word: str) -> timedelta | None:
    bare = word.removeprefix("-").removesuffix("ago").strip()
    found = _ISO_DURATION.fullmatch(bare) or _DURATION.fullmatch(bare)
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _time(word: str) -> datetime:
    found = datetime.fromisoformat(word)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
