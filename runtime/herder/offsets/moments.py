"""Where in a topic to go, as people say it: earliest, latest, a time, a duration ago, so many records on or back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from runtime.herder.errors import BadRequest

_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE)
_DURATION = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+)s)?", re.IGNORECASE)
_EXPECTED = (
    "expected earliest, latest, a time (2026-01-31T12:00:00Z), a duration ago (2h30m or PT2H30M), +N or -N records, "
    "or an offset"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end."""

    end: bool


@dataclass(frozen=True, slots=True)
class At:
    """The first record of that time (milliseconds since 1970) or later."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Relative:
    """So many offsets on from (or, negative, back from) where the sink is."""

    records: int


@dataclass(frozen=True, slots=True)
class Absolute:
    """This offset."""

    offset: int


Moment = Edge | At | Relative | Absolute


def parse(text: object, now: datetime) -> Moment:
    """BadRequest says what is expected. A time without a zone is in UTC."""
    if isinstance(text, int) and not isinstance(text, bool) and 0 <= text < 10**18:
        return Absolute(text)
    word = text.strip() if isinstance(text, str) else ""
    if word.lower() in ("earliest", "latest"):
        return Edge(end=word.lower() == "latest")
    if re.fullmatch(r"[+-]\d{1,18}", word):
        return Relative(int(word))
    if re.fullmatch(r"\d{1,18}", word):
        return Absolute(int(word))
    try:
        moment = now - ago if (ago := _duration(word)) is not None else _time(word)
        return At(max(int(moment.timestamp() * 1000), 0))
    except (ValueError, OverflowError):
        raise BadRequest(f"'to' is {text!r}; {_EXPECTED}") from None


def _duration(word: str) -> timedelta | None:
    found = _ISO_DURATION.fullmatch(word) or _DURATION.fullmatch(word.removesuffix(" ago"))
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _time(word: str) -> datetime:
    found = datetime.fromisoformat(word)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
