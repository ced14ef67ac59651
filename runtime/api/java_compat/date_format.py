"""Patterns of java.text.SimpleDateFormat, such as `yyyy-MM-dd'T'HH:mm:ss.SSS`, in UTC and English, equally lenient."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import NamedTuple

from runtime.api.errors import ConfigError
from runtime.api.java_compat.date_fields import DAYS, MONTHS, FieldReader, is_number
from runtime.api.java_compat.date_fixed_width import fixed_width_reader, fixed_width_writer

_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"

_EPOCH, _MS = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(milliseconds=1)
_DAY = 86_400_000
_UNITS = {**dict.fromkeys("aHkKh", 3_600_000), "m": 60_000, "s": 1000, "S": 1}


class _Token(NamedTuple):
    letter: str  # empty for literal text
    width: int
    text: str


class DatePattern:
    """A compiled pattern; raises ConfigError if it is invalid."""

    def __init__(self, pattern: str) -> None:
        self._tokens = _tokens(pattern)
        self._writers = [_writer(token) for token in self._tokens]
        self._fixed_width_writer, self._fixed_width_reader = (
            fixed_width_writer(self._tokens),
            fixed_width_reader(self._tokens),
        )
        self.unit = min([_UNITS.get(token.letter, _DAY) for token in self._tokens], default=_DAY)
        """Milliseconds of the smallest field: the formatted text is constant between its multiples."""

    def format(self, time: dt.datetime) -> str:
        """The text of a time in UTC."""
        if self._fixed_width_writer is not None:
            return self._fixed_width_writer(time)
        return "".join([write(time) for write in self._writers])

    def parse(self, text: str) -> dt.datetime:
        """The time of a text in UTC, ignoring text after the match; ValueError if the start does not match,
        OverflowError beyond Python's years 1 to 9999."""
        time = self._fixed_width_reader(text) if self._fixed_width_reader is not None else None
        return time if time is not None else self._read_fields(text).time()

    def parse_millis(self, text: str) -> int:
        """The time of a text in milliseconds since 1970, in any year; ValueError if the start does not match."""
        time = self._fixed_width_reader(text) if self._fixed_width_reader is not None else None
        return (time - _EPOCH) // _MS if time is not None else self._read_fields(text).millis()

    def _read_fields(self, text: str) -> FieldReader:
        """Parses field by field, as leniently as Java."""
        reader = FieldReader(text)
        for token, following in zip(self._tokens, [*self._tokens[1:], None], strict=True):
            if token.letter:
                reader.field(token, following is not None and is_number(following))
            else:
                reader.literal(token.text)
        return reader


def _tokens(pattern: str) -> list[_Token]:
    tokens: list[_Token] = []
    literal = ""
    position, quoted = 0, False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern[position + 1 : position + 2] == "'":
                literal += "'"
                position += 2
            else:
                quoted = not quoted
                position += 1
        elif quoted or not (char.isascii() and char.isalpha()):
            literal += char
            position += 1
        else:
            count = len(pattern) - position - len(pattern[position:].lstrip(char))
            _check(char, count)
            if literal:
                tokens.append(_Token("", 0, literal))
                literal = ""
            tokens.append(_Token(char, count, ""))
            position += count
    if quoted:
        raise ConfigError("Unterminated quote")
    if literal:
        tokens.append(_Token("", 0, literal))
    return tokens


def _check(letter: str, width: int) -> None:
    if letter not in _LETTERS:
        raise ConfigError(f"Illegal pattern character '{letter}'")
    if letter == "X" and width > 3:
        raise ConfigError(f"invalid ISO 8601 format: length={width}")


def _writer(token: _Token) -> Callable[[dt.datetime], str]:
    letter, count = token.letter, token.width
    if not letter:
        return lambda time: token.text
    if letter in "yY":
        year = (lambda t: t.year) if letter == "y" else _week_year
        return (lambda t: f"{year(t) % 100:02}") if count == 2 else (lambda t: f"{year(t):0{count}}")
    if letter in "ML" and count >= 3:
        return (lambda t: MONTHS[t.month - 1]) if count > 3 else (lambda t: MONTHS[t.month - 1][:3])
    if letter == "E":
        return (lambda t: DAYS[t.isoweekday() % 7]) if count > 3 else (lambda t: DAYS[t.isoweekday() % 7][:3])
    if letter == "a":
        return lambda t: "AM" if t.hour < 12 else "PM"
    if letter in _FIXED:
        fixed = _FIXED[letter] if letter != "z" or count < 4 else "Coordinated Universal Time"
        return lambda t: fixed
    number = _NUMBERS[letter]
    return lambda t: f"{number(t):0{count}}"


_FIXED = {"G": "AD", "z": "UTC", "Z": "+0000", "X": "Z"}
_NUMBERS: dict[str, Callable[[dt.datetime], int]] = {
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "F": lambda t: (t.day - 1) // 7 + 1,
    "u": lambda t: t.isoweekday(),
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "K": lambda t: t.hour % 12,
    "h": lambda t: t.hour % 12 or 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "S": lambda t: t.microsecond // 1000,
    "w": lambda t: _week(t)[1],
    "W": lambda t: (t.day + _weekday_of(t.replace(day=1)) - 1) // 7 + 1,
}


def _weekday_of(time: dt.datetime) -> int:
    """Days since Sunday, the first day of the week."""
    return time.isoweekday() % 7


def _week(time: dt.datetime) -> tuple[int, int]:
    """Year and number of the week; the first week contains January 1st."""
    following = time.replace(month=1, day=1, year=time.year + 1) if time.year < 9999 else None
    if following is not None and (following - time).days <= _weekday_of(following):
        return time.year + 1, 1
    first = time.replace(month=1, day=1)
    return time.year, (time.timetuple().tm_yday - 1 + _weekday_of(first)) // 7 + 1


def _week_year(time: dt.datetime) -> int:
    return _week(time)[0]
