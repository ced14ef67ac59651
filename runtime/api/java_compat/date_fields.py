"""Parses a text field by field, as a lenient java.text.SimpleDateFormat does."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from runtime.api.java_compat.calendar import CalendarField, CalendarFields
from runtime.api.java_compat.date_fixed_width import Token

# Names of time zones in dates, as Java 17 parses them.
#
# zones.tsv: zone, daylight saving in minutes, long and short name of its standard time, long and short name of its
# daylight saving time; if zones share a name, the first one is used.
_MS = dt.timedelta(milliseconds=1)
_ZONE_EPOCH = dt.datetime(1970, 1, 1)


class ZoneName(NamedTuple):
    """The zone of a name. `dst_offset` in milliseconds is None if the rules of the zone determine it."""

    zone: str
    dst_offset: int | None


@cache
def _names() -> list[tuple[str, ZoneName]]:
    zones: dict[str, ZoneName] = {}
    for line in files("runtime.api.java_compat").joinpath("zones.tsv").read_text("utf-8").splitlines():
        zone, saving, *names = line.split("\t")
        standard, daylight = [name.lower() for name in names[:2]], [name.lower() for name in names[2:]]
        for mine, other in zip(standard, daylight, strict=True):
            zones.setdefault(mine, ZoneName(zone, None if mine == other else 0))
        for name in daylight:
            zones.setdefault(name, ZoneName(zone, int(saving) * 60_000 or None))
    return list(zones.items())


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
        local = _ZONE_EPOCH + dt.timedelta(milliseconds=wall_ms)
    except (ZoneInfoNotFoundError, OverflowError) as error:
        raise ValueError(f"{zone}: {error}") from error
    # repeated times are standard time; skipped times have the offset before the transition
    earlier, later = (local.replace(tzinfo=rules, fold=fold) for fold in (0, 1))
    at = min(earlier, later, key=lambda time: time.utcoffset() or dt.timedelta())
    offset, saving = at.utcoffset() or dt.timedelta(), at.dst() or dt.timedelta()
    return offset // _MS if dst_offset is None else (offset - saving) // _MS + dst_offset


MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ERAS = ("Before Christ", "Anno Domini")
_SHORT_ERAS = ("BC", "AD")
_NUMERIC = frozenset("yYwWDdFuHkKhmsS")
_NUMBER = re.compile(r"(-?\d+)(E[+-]?\d+)?")
_MAX, _MIN = (1 << 31) - 1, -(1 << 31)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_F = CalendarField
_FIELDS = {
    "y": _F.YEAR, "Y": _F.WEEK_YEAR, "M": _F.MONTH, "L": _F.MONTH, "w": _F.WEEK_OF_YEAR,
    "W": _F.WEEK_OF_MONTH, "D": _F.DAY_OF_YEAR, "d": _F.DAY_OF_MONTH, "F": _F.WEEKDAY_IN_MONTH,
    "u": _F.DAY_OF_WEEK, "H": _F.HOUR_OF_DAY, "k": _F.HOUR_OF_DAY, "K": _F.HOUR, "h": _F.HOUR,
    "m": _F.MINUTE, "s": _F.SECOND, "S": _F.MILLISECOND, "E": _F.DAY_OF_WEEK, "a": _F.AM_PM,
    "G": _F.ERA,
}  # fmt: skip


def is_number(token: Token) -> bool:
    """Whether the field is a number."""
    return token.letter in _NUMERIC or (token.letter in ("M", "L") and token.width < 3)


class FieldReader:
    """Parses one text; ValueError if the text does not match the tokens."""

    def __init__(self, text: str) -> None:
        self._text, self._position = text, 0
        self._fields = CalendarFields()
        self._zone = "UTC"
        self._century_start: float | None = None  # in ms since 1970: two-digit years before it are in the next century

    def time(self) -> dt.datetime:
        """The time given by the fields read so far, in UTC; OverflowError beyond Python's years 1 to 9999."""
        return _EPOCH + dt.timedelta(milliseconds=self.millis())

    def millis(self) -> int:
        """The same time in milliseconds since 1970, in any year."""
        ms = self._resolved()
        if self._century_start is not None and ms < self._century_start:
            values = self._fields.values
            for year in (CalendarField.YEAR, CalendarField.WEEK_YEAR):
                if year in values:
                    values[year] += 100
            ms = self._resolved()
        return ms

    def _resolved(self) -> int:
        local_time = self._fields.local_time()
        if local_time.zone_offset is not None:
            return local_time.ms - local_time.zone_offset - (local_time.dst_offset or 0)
        return local_time.ms - offset_at(self._zone, local_time.ms, local_time.dst_offset)

    def literal(self, text: str) -> None:
        """Skips literal text."""
        if not self._text.startswith(text, self._position):
            raise ValueError(self._text)
        self._position += len(text)

    def field(self, token: Token, abuts: bool) -> None:
        """Parses a field; `abuts`: another number follows directly, so the field has as many digits as in the
        pattern."""
        start = self._position
        while self._text[self._position : self._position + 1] in (" ", "\t"):
            self._position += 1
        if self._position >= len(self._text):
            raise ValueError(self._text)
        letter = token.letter
        if letter == "X":
            self._iso_zone(token.width)
        elif letter in ("z", "Z"):
            self._zone_field(start)
        elif is_number(token):
            self._number_field(token, start + token.width if abuts else len(self._text))
        else:
            self._name_field(letter, start)

    def _number_field(self, token: Token, end: int) -> None:
        if end > len(self._text):
            raise ValueError(self._text)
        letter, first = token.letter, self._position
        number = self._number(end)
        if letter in ("y", "Y") and token.width <= 2 and self._position - first == 2 and self._text[first].isdecimal():
            number = self._century(number)
        elif letter in ("M", "L"):
            number -= 1
        elif (letter == "k" and number == 24) or (letter == "h" and number == 12):
            number = 0
        elif letter == "u" and 1 <= number <= 7:
            number = number % 7 + 1
        self._fields.set(_FIELDS[letter], number)

    def _number(self, end: int) -> int:
        text, position = self._text[:end], self._position
        for special, number in (("NaN", 0), ("∞", _MAX)):
            if text.startswith(special, position):
                self._position += len(special)
                return number
        match = _NUMBER.match(text, position)
        if match is None:
            raise ValueError(text)
        self._position = match.end()
        digits, exponent = match.groups()
        return _int32(int(digits) if len(digits) < 400 else int(digits[:400]), exponent)

    def _century(self, number: int) -> int:
        """The year of two digits, within 80 years before and 20 years after today."""
        now = dt.datetime.now(dt.UTC)
        first = now.year - 80
        if number == first % 100:
            leap_day = now.month == 2 and now.day == 29
            self._century_start = now.replace(year=first, day=28 if leap_day else now.day).timestamp() * 1000
        return first // 100 * 100 + number + (100 if number < first % 100 else 0)

    def _name_field(self, letter: str, start: int) -> None:
        base, tables = {
            "M": (0, (MONTHS, _short(MONTHS))),
            "L": (0, (MONTHS, _short(MONTHS))),
            "E": (1, (DAYS, _short(DAYS))),
            "a": (0, (("AM", "PM"),)),
            "G": (0, (_ERAS, _SHORT_ERAS)),
        }[letter]
        rest = self._text[start : start + 16].lower()
        for names in tables:
            for index, name in enumerate(names):
                if rest.startswith(name.lower()):
                    self._fields.set(_FIELDS[letter], base + index)
                    self._position = start + len(name)
                    return
        raise ValueError(self._text)

    def _iso_zone(self, width: int) -> None:
        sign = self._text[self._position]
        self._position += 1
        if sign == "Z":
            self._offset(0)
        elif sign in "+-":
            self._offset_digits(sign, width != 1, width == 3)
        else:
            raise ValueError(self._text)

    def _zone_field(self, start: int) -> None:
        sign = self._text[self._position]
        if sign in "+-":
            self._position += 1
            self._offset_digits(sign, True, False)
        elif sign in "Gg" and self._text[start : start + 3].upper() == "GMT":
            self._position = start + 3
            sign = self._text[self._position : self._position + 1]
            if sign in ("+", "-"):
                self._position += 1
                self._offset_digits(sign, True, True, one_digit=True)
            else:
                self._offset(0)
        else:
            self._zone_name()

    def _zone_name(self) -> None:
        zone = zone_named(self._text, self._position)
        if zone is None:
            raise ValueError(self._text)
        (self._zone, saving), self._position = zone
        if saving is not None:
            self._fields.clear(CalendarField.ZONE_OFFSET)
            self._fields.set(CalendarField.DST_OFFSET, saving)

    def _offset_digits(self, sign: str, minutes: bool, colon: bool, one_digit: bool = False) -> None:
        """`+08`, `+0830`, `+08:30`, or `+8:30` if `one_digit` is set."""
        form = (r"([0-9]{1,2})" if one_digit else r"([0-9]{2})") + ((":" if colon else "") + r"([0-9]{2})") * minutes
        match = re.compile(form).match(self._text, self._position)
        if match is None or int(match[1]) > 23 or (minutes and int(match[2]) > 59):
            raise ValueError(self._text)
        self._position = match.end()
        total = int(match[1]) * 60 + (int(match[2]) if minutes else 0)
        self._offset(total if sign == "+" else -total)

    def _offset(self, minutes: int) -> None:
        self._fields.set(CalendarField.ZONE_OFFSET, minutes * 60_000)
        self._fields.set(CalendarField.DST_OFFSET, 0)


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:3] for name in names)


def _int32(number: int, exponent: str | None) -> int:
    """A number as Java's intValue() returns it: the lower half of 64 bits; larger numbers are limited to 64 bits
    first."""
    if exponent is not None and number:
        power = int(exponent[1:])
        number = int(Decimal(number).scaleb(power)) if abs(power) < 400 else 0 if power < 0 else number << 80
    if -(1 << 63) <= number < 1 << 63:
        return (number + (1 << 31)) % (1 << 32) - (1 << 31)
    return _MAX if number > 0 else _MIN
