"""Resolves the fields of a date to a time, as a lenient java.util.GregorianCalendar does.

If fields contradict each other, the one set last wins. A value beyond the bounds of its field carries over to the next
larger field. Weeks start on Sunday; the first week of a year contains January 1st.
"""

from __future__ import annotations

from calendar import isleap
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import accumulate
from typing import NamedTuple

_DAY_MS = 86_400_000
_EPOCH_DAY = 719_163
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30)
_BEFORE_MONTH = tuple(accumulate(_LENGTHS, initial=0))
_SUNDAY = 1


class CalendarField(Enum):
    """The fields of java.util.Calendar."""

    ERA = auto()
    YEAR = auto()
    WEEK_YEAR = auto()
    MONTH = auto()  # from 0
    WEEK_OF_YEAR = auto()
    WEEK_OF_MONTH = auto()
    DAY_OF_MONTH = auto()
    DAY_OF_YEAR = auto()
    DAY_OF_WEEK = auto()  # Sunday is 1
    WEEKDAY_IN_MONTH = auto()
    AM_PM = auto()
    HOUR = auto()
    HOUR_OF_DAY = auto()
    MINUTE = auto()
    SECOND = auto()
    MILLISECOND = auto()
    ZONE_OFFSET = auto()
    DST_OFFSET = auto()


class LocalTime(NamedTuple):
    """A local time in milliseconds since 1970, with the zone offsets that were set (milliseconds)."""

    ms: int
    zone_offset: int | None
    dst_offset: int | None


@dataclass(slots=True)
class CalendarFields:
    """The values of fields, in the order in which they were set."""

    values: dict[CalendarField, int] = field(default_factory=dict)

    def set(self, name: CalendarField, value: int) -> None:
        """Sets a field, which then counts as the last one set."""
        self.values.pop(name, None)
        self.values[name] = value

    def clear(self, name: CalendarField) -> None:
        """Unsets a field."""
        self.values.pop(name, None)

    def local_time(self) -> LocalTime:
        """The local time that the fields specify."""
        values = self.values
        stamps = {name: stamp for stamp, name in enumerate(values, 1)}
        by_week = stamps.get(CalendarField.WEEK_YEAR, 0) > stamps.get(CalendarField.YEAR, 0)
        days = _week_date(values) if by_week else _date(values, stamps)
        ms = (days - _EPOCH_DAY) * _DAY_MS + _time_of_day(values, stamps)
        return LocalTime(ms, values.get(CalendarField.ZONE_OFFSET), values.get(CalendarField.DST_OFFSET))


def days_of(year: int, month: int) -> int:
    """The day number of the month's first day (January 1st of year 1 is day 1); months count from 0."""
    year += month // 12
    month %= 12
    before = year - 1
    leap_day = month > 1 and isleap(year)
    return before * 365 + before // 4 - before // 100 + before // 400 + _BEFORE_MONTH[month] + leap_day + 1


def _on_or_before(day: int, day_of_week: int) -> int:
    return day - (day - (day_of_week - 1)) % 7


def _time_of_day(values: dict[CalendarField, int], stamps: dict[CalendarField, int]) -> int:
    of_day, half = stamps.get(CalendarField.HOUR_OF_DAY, 0), _both(stamps, CalendarField.HOUR, CalendarField.AM_PM)
    latest = max(of_day, half) or max(stamps.get(CalendarField.HOUR, 0), stamps.get(CalendarField.AM_PM, 0))
    if latest and latest == of_day:
        hours = values[CalendarField.HOUR_OF_DAY]
    else:
        hours = values.get(CalendarField.HOUR, 0) + 12 * values.get(CalendarField.AM_PM, 0)
    seconds = (hours * 60 + values.get(CalendarField.MINUTE, 0)) * 60 + values.get(CalendarField.SECOND, 0)
    return seconds * 1000 + values.get(CalendarField.MILLISECOND, 0)


def _both(stamps: dict[CalendarField, int], first: CalendarField, other: CalendarField) -> int:
    """The stamp of the later field; 0 if one of them is missing."""
    return max(stamps[first], stamps[other]) if first in stamps and other in stamps else 0


_OF_MONTH = (CalendarField.DAY_OF_MONTH, CalendarField.WEEK_OF_MONTH, CalendarField.WEEKDAY_IN_MONTH)


def _deciding(stamps: dict[CalendarField, int]) -> CalendarField:
    """The field that determines the day of the year or of the month."""
    stamp_of = stamps.get
    latest: dict[CalendarField, int] = {
        CalendarField.DAY_OF_MONTH: stamp_of(CalendarField.DAY_OF_MONTH, 0),
        CalendarField.WEEK_OF_MONTH: _both(stamps, CalendarField.WEEK_OF_MONTH, CalendarField.DAY_OF_WEEK),
        CalendarField.WEEKDAY_IN_MONTH: _both(stamps, CalendarField.WEEKDAY_IN_MONTH, CalendarField.DAY_OF_WEEK),
        CalendarField.DAY_OF_YEAR: stamp_of(CalendarField.DAY_OF_YEAR, 0),
        CalendarField.WEEK_OF_YEAR: _both(stamps, CalendarField.WEEK_OF_YEAR, CalendarField.DAY_OF_WEEK),
    }
    if not any(latest.values()):
        latest = {
            CalendarField.WEEK_OF_MONTH: stamp_of(CalendarField.WEEK_OF_MONTH, 0),
            CalendarField.WEEKDAY_IN_MONTH: max(
                stamp_of(CalendarField.WEEKDAY_IN_MONTH, 0), stamp_of(CalendarField.DAY_OF_WEEK, 0)
            ),
            CalendarField.WEEK_OF_YEAR: stamp_of(CalendarField.WEEK_OF_YEAR, 0),
        }
    best = max(latest.values())
    if not best:
        return CalendarField.DAY_OF_MONTH
    return _break_tie([name for name, stamp in latest.items() if stamp == best], stamps)


def _break_tie(tied: list[CalendarField], stamps: dict[CalendarField, int]) -> CalendarField:
    """Fields tie if the day of the week, which belongs to each of them, was set last. Then the field set later wins; if
    these tie too, the week of the month."""
    return max(tied, key=lambda name: stamps.get(name, 0)) if len(tied) > 1 else tied[0]


def _date(values: dict[CalendarField, int], stamps: dict[CalendarField, int]) -> int:
    year = values.get(CalendarField.YEAR, 1970)
    if values.get(CalendarField.ERA) == 0:
        year = 1 - year
    deciding = _deciding(stamps)
    month = values.get(CalendarField.MONTH, 0) if deciding in _OF_MONTH else 0
    first = days_of(year, month)
    weekday = values.get(CalendarField.DAY_OF_WEEK, _SUNDAY)
    if deciding is CalendarField.DAY_OF_MONTH:
        return first + values.get(CalendarField.DAY_OF_MONTH, 1) - 1
    if deciding is CalendarField.DAY_OF_YEAR:
        return first + values[CalendarField.DAY_OF_YEAR] - 1
    if deciding is CalendarField.WEEKDAY_IN_MONTH:
        number = values.get(CalendarField.WEEKDAY_IN_MONTH, 1)
        if number >= 0:
            return _on_or_before(first + 7 * number - 1, weekday)
        return _on_or_before(days_of(year, month + 1) + 7 * (number + 1) - 1, weekday)
    return _first_week(first, weekday) + 7 * (values[deciding] - 1)


def _first_week(first: int, weekday: int) -> int:
    """The day of the week, within the week of the day `first`."""
    sunday = _on_or_before(first + 6, _SUNDAY)
    if sunday - first >= 1:
        sunday -= 7
    return _on_or_before(sunday + 6, weekday)


def _week_date(values: dict[CalendarField, int]) -> int:
    week, weekday = values.get(CalendarField.WEEK_OF_YEAR, 1), values.get(CalendarField.DAY_OF_WEEK, _SUNDAY)
    if weekday >= 8:
        week, weekday = week + (weekday - 1) // 7, (weekday - 1) % 7 + 1
        weekday = weekday % 7 + 1
    elif weekday <= 0:
        weeks = -weekday // 7 + 1
        week, weekday = week - weeks, (weekday + 7 * weeks) % 7 + 1
    return _first_week(days_of(values[CalendarField.WEEK_YEAR], 0), _SUNDAY) + weekday - 1 + 7 * (week - 1)
