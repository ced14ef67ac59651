"""Dates, times and intervals, from texts in ISO style, in the proleptic Gregorian calendar.

PostgreSQL's years reach from 4714 BC to 294276 AD, beyond those of Python, so that the results are numbers."""

from __future__ import annotations

import datetime as dt
import re

INFINITY_MILLIS, MINUS_INFINITY_MILLIS = 9223372036825200, -9223372036832400
"""What Debezium writes for infinite timestamps: milliseconds of its driver, read as microseconds."""

_INFINITE_DAYS = {"infinity": (1 << 31) - 1, "-infinity": -(1 << 31)}
_INFINITE_MICROS = {"infinity": INFINITY_MILLIS * 1000, "-infinity": MINUS_INFINITY_MILLIS * 1000}
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY, _SECOND = 86_400_000_000, 1_000_000  # in microseconds
_LONG = 1 << 63
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_DAYS_OF_MONTH = 30.4375  # Debezium's mean
_ZONE = re.compile(r"([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?\Z")
_UNIT = re.compile(r"([+-]?\d+) (year|mon|day)s?")
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?\Z")


def days(text: str) -> int:
    """Days since 1970 of a date."""
    if len(text) == 10:
        return dt.date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if text in _INFINITE_DAYS:
        return _INFINITE_DAYS[text]
    is_bc = text.endswith(" BC")
    year, month, day = text.removesuffix(" BC").split("-")
    return _days(1 - int(year) if is_bc else int(year), int(month), int(day))


def _days(year: int, month: int, day: int) -> int:
    cycles, rest = divmod(year, _CYCLE_YEARS)
    return dt.date(rest + _CYCLE_YEARS, month, day).toordinal() - _EPOCH_DAY + (cycles - 1) * _CYCLE_DAYS


def time_micros(text: str) -> int:
    """Microseconds since midnight of a time of day, which may be 24:00:00."""
    micros = (int(text[:2]) * 60 + int(text[3:5])) * 60 * _SECOND + int(text[6:8]) * _SECOND
    return micros + int(text[9:].ljust(6, "0")) if len(text) > 8 else micros


def timestamp_micros(text: str) -> int:
    """Microseconds since 1970 of a timestamp without time zone, taken as UTC."""
    if text in _INFINITE_MICROS:
        return _INFINITE_MICROS[text]
    date, _, rest = text.partition(" ")
    time, _, era = rest.partition(" ")
    micros = days(f"{date} {era}" if era else date) * _DAY + time_micros(time)
    if micros >= _LONG:
        raise ValueError(f"{text} has no number of microseconds since 1970 in 64 bits")
    return micros


def instant_micros(text: str) -> int:
    """Microseconds since 1970 of a finite timestamp with a time zone."""
    date, _, rest = text.partition(" ")
    clock, _, era = rest.partition(" ")
    time, offset = _split_zone(clock)
    return days(f"{date} {era}" if era else date) * _DAY + time_micros(time) - offset


def _split_zone(text: str) -> tuple[str, int]:
    """A time and the offset of its zone, in microseconds."""
    if text.endswith("+00"):
        return text[:-3], 0
    zone = _ZONE.search(text)
    if zone is None:
        return text, 0
    sign, hours, minutes, seconds = zone.groups()
    offset = (int(hours) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return text[: zone.start()], (offset if sign == "+" else -offset) * _SECOND


def zoned_timestamp(text: str, digits: int) -> str:
    """A timestamp with a time zone in ISO 8601, in UTC, with this many digits of the second."""
    if text in _INFINITE_MICROS:
        return text
    if text.endswith("+00") and text[4] == "-":  # the session's zone is UTC
        return f"{text[:10]}T{_fraction(text[11:-3], digits)}Z"
    total, micros = divmod(instant_micros(text), _DAY)
    seconds, fraction = divmod(micros, _SECOND)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"{_date_text(total)}T{_fraction(clock, digits)}Z"


def _fraction(clock: str, digits: int) -> str:
    if not digits:
        return clock[:8]
    return f"{clock[:8]}.{clock[9:].ljust(6, '0')[:digits]}"


def _date_text(total: int) -> str:
    """A date of days since 1970 in ISO 8601, with a sign if the year does not have four digits or is before 1 AD."""
    cycles, rest = divmod(total + _EPOCH_DAY - 1, _CYCLE_DAYS)
    date = dt.date.fromordinal(rest + 1)
    year = date.year + cycles * _CYCLE_YEARS
    text = f"{year:04}" if 0 <= year <= 9999 else f"+{year}" if year > 0 else f"-{-year:04}"
    return f"{text}-{date.month:02}-{date.day:02}"


def zoned_time(text: str) -> str:
    """A time of day with a time zone in ISO 8601, in UTC."""
    clock, offset = _split_zone(text)
    seconds, fraction = divmod((time_micros(clock) - offset) % _DAY, _SECOND)
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{tail}Z"


def _interval(text: str) -> tuple[int, int, int, int]:
    """Years, months, days and microseconds of an interval in PostgreSQL's style."""
    units = {"year": 0, "mon": 0, "day": 0}
    for number, unit in _UNIT.findall(text):
        units[unit] = int(number)
    clock = _CLOCK.search(text)
    micros = 0
    if clock is not None:
        sign, hours, minutes, seconds, fraction = clock.groups()
        micros = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * _SECOND + int((fraction or "").ljust(6, "0"))
        micros = -micros if sign == "-" else micros
    return units["year"], units["mon"], units["day"], micros


def interval_micros(text: str) -> int:
    """Microseconds of an interval, with 365.25 days to a year and a twelfth of it to a month."""
    years, months, day_count, micros = _interval(text)
    return round((years * 12 + months) * _DAYS_OF_MONTH * _DAY) + day_count * _DAY + micros


def interval_text(text: str) -> str:
    """An interval in ISO 8601."""
    years, months, day_count, micros = _interval(text)
    sign = -1 if micros < 0 else 1
    seconds, fraction = divmod(abs(micros), _SECOND)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    second_text = f"{'-' if sign < 0 and (seconds or fraction) else ''}{seconds}{tail}"
    return f"P{years}Y{months}M{day_count}DT{sign * hours}H{sign * minutes}M{second_text}S"
