"""Names of time zones in dates, as Java 17 parses them.

zones.tsv: zone, daylight saving in minutes, long and short name of its standard time, long and short name of its
daylight saving time; if zones share a name, the first one is used.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MS = dt.timedelta(milliseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)


class ZoneName(NamedTuple):
    """The zone of a name. `dst_offset` in milliseconds is None if the rules of the zone determine it."""

    zone: str
    dst_offset: int | None


@cache
def _names() -> list[tuple[str, ZoneName]]:
    found: dict[str, ZoneName] = {}
    for line in files("runtime.api.java_compat").joinpath("zones.tsv").read_text("utf-8").splitlines():
        zone, saving, *names = line.split("\t")
        standard, daylight = [name.lower() for name in names[:2]], [name.lower() for name in names[2:]]
        for mine, other in zip(standard, daylight, strict=True):
            found.setdefault(mine, ZoneName(zone, None if mine == other else 0))
        for name in daylight:
            found.setdefault(name, ZoneName(zone, int(saving) * 60_000 or None))
    return list(found.items())


def zone_named(text: str, position: int) -> tuple[ZoneName, int] | None:
    """The zone whose name starts at this position, and the position after the name; None if there is no such zone."""
    rest = text[position : position + 64].lower()
    for name, named in _names():
        if rest.startswith(name):
            return named, position + len(name)
    return None


def offset_at(zone: str, wall_ms: int, dst_offset: int | None) -> int:
    """Milliseconds ahead of UTC at this local time; ValueError if the system does not know the zone."""
    if zone == "UTC":
        return dst_offset or 0
    try:
        rules = ZoneInfo(zone)
        local = _EPOCH + dt.timedelta(milliseconds=wall_ms)
    except (ZoneInfoNotFoundError, OverflowError) as error:
        raise ValueError(f"{zone}: {error}") from error
    # repeated times are standard time; skipped times have the offset before the transition
    earlier, later = (local.replace(tzinfo=rules, fold=fold) for fold in (0, 1))
    at = min(earlier, later, key=lambda time: time.utcoffset() or dt.timedelta())
    offset, saving = at.utcoffset() or dt.timedelta(), at.dst() or dt.timedelta()
    return offset // _MS if dst_offset is None else (offset - saving) // _MS + dst_offset
