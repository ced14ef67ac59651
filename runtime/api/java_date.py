"""Patterns of Java's SimpleDateFormat, such as `yyyy-MM-dd'T'HH:mm:ss.SSS`: UTC, English, and as lenient as there."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import NamedTuple

from runtime.api.errors import ConfigError
from runtime.api.java_date_usual import usual_reader, usual_writer

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
_NUMERIC = "yYwWDdFuHkKhmsS"
_OFFSET = re.compile(r"(?:GMT)?([+-])(\d{1,2}):?(\d{2})?")
_NUMBER = re.compile(r"-?\d+", re.ASCII)

_DAY = 86_400_000
_UNITS = {**dict.fromkeys("aHkKh", 3_600_000), "m": 60_000, "s": 1000, "S": 1}


class _Token(NamedTuple):
    letter: str  # empty for text that stands as it is
    width: int
    text: str


class DatePattern:
    """A pattern, ready to write and read times; ConfigError when it is none."""

    def __init__(self, pattern: str) -> None:
        self._tokens = _tokens(pattern)
        self._writers = [_writer(token) for token in self._tokens]
        self._usual_writer, self._usual_reader = usual_writer(self._tokens), usual_reader(self._tokens)
        self.unit = min([_UNITS.get(token.letter, _DAY) for token in self._tokens], default=_DAY)
        """Milliseconds since 1970 for whose multiples alone the text is another one."""

    def format(self, time: dt.datetime) -> str:
        if self._usual_writer is not None:
            return self._usual_writer(time)
        return "".join([write(time) for write in self._writers])

    def parse(self, text: str) -> dt.datetime:
        """ValueError when the text does not begin as the pattern says. What comes behind is not looked at."""
        time = self._usual_reader(text) if self._usual_reader is not None else None
        return time if time is not None else self._parse(text)

    def _parse(self, text: str) -> dt.datetime:
        """Number by number, as lenient as Java."""
        found: dict[str, int] = {}
        position = 0
        for index, token in enumerate(self._tokens):
            if not token.letter:
                if not text.startswith(token.text, position):
                    raise ValueError(text)
                position += len(token.text)
                continue
            following = self._tokens[index + 1] if index + 1 < len(self._tokens) else None
            abuts = following is not None and following.letter != "" and _is_number(following)
            position = _read(token, text, position, abuts, found)
        return _resolve(found)


def _is_number(token: _Token) -> bool:
    return token.letter in _NUMERIC or (token.letter in "ML" and token.width < 3)


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
        return (lambda t: _MONTHS[t.month - 1]) if count > 3 else (lambda t: _MONTHS[t.month - 1][:3])
    if letter == "E":
        return (lambda t: _DAYS[t.weekday()]) if count > 3 else (lambda t: _DAYS[t.weekday()][:3])
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
    """Days since the week's first day, which is Sunday."""
    return time.isoweekday() % 7


def _week(time: dt.datetime) -> tuple[int, int]:
    """Year and number of the week: the first is the one with January 1st in it."""
    following = time.replace(month=1, day=1, year=time.year + 1) if time.year < 9999 else None
    if following is not None and (following - time).days <= _weekday_of(following):
        return time.year + 1, 1
    first = time.replace(month=1, day=1)
    return time.year, (time.timetuple().tm_yday - 1 + _weekday_of(first)) // 7 + 1


def _week_year(time: dt.datetime) -> int:
    return _week(time)[0]


def _read(token: _Token, text: str, position: int, abuts: bool, found: dict[str, int]) -> int:
    """Reads one field into `found`; returns the position behind it."""
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    letter, count = token.letter, token.width
    if letter == "X" and text[position : position + 1] == "Z":
        found["offset"] = 0
        return position + 1
    if letter in "zZX":
        return _read_zone(text, position, found)
    if not _is_number(token):
        return _read_name(letter, text, position, found)
    match = _NUMBER.match(text[position : position + count] if abuts else text[position:])
    if match is None:
        raise ValueError(text)
    number, digits = int(match.group()), match.group()
    if letter in "yY" and count <= 2 and len(digits) == 2 and digits.isdigit():
        number = _century(number)
    found["M" if letter == "L" else letter] = number
    return position + match.end()


def _century(number: int) -> int:
    """Two digits mean a year between 80 years ago and in 20 years."""
    this = dt.datetime.now(dt.UTC).year
    year = this - this % 100 + number
    return year - 100 if year > this + 20 else year + 100 if year <= this - 80 else year


def _read_name(letter: str, text: str, position: int, found: dict[str, int]) -> int:
    rest = text[position:].lower()
    names = {"M": _MONTHS, "L": _MONTHS, "E": _DAYS, "a": ("AM", "PM"), "G": ("BC", "AD")}[letter]
    for index, name in enumerate(names):
        for spelling in (name, name[:3]):
            if rest.startswith(spelling.lower()):
                found["M" if letter == "L" else letter] = index + 1 if letter in "ML" else index
                return position + len(spelling)
    raise ValueError(text)


def _read_zone(text: str, position: int, found: dict[str, int]) -> int:
    if match := _OFFSET.match(text, position):
        sign, hours, minutes = match.groups()
        found["offset"] = (int(hours) * 60 + int(minutes or 0)) * (1 if sign == "+" else -1)
        return match.end()
    for name, hours_east in (("UTC", 0), ("GMT", 0), ("EST", -5), ("EDT", -4), ("CST", -6), ("CDT", -5), ("MST", -7),
                             ("MDT", -6), ("PST", -8), ("PDT", -7), ("CET", 1), ("CEST", 2)):  # fmt: skip
        if text.startswith(name, position):
            found["offset"] = hours_east * 60
            return position + len(name)
    raise ValueError(text)


def _resolve(found: dict[str, int]) -> dt.datetime:
    """The time that the fields make. Fields beyond their bounds run over into the next larger one."""
    months = found.get("y", found.get("Y", 1970)) * 12 + found.get("M", 1) - 1
    time = dt.datetime(months // 12, months % 12 + 1, 1, tzinfo=dt.UTC)
    if "D" in found and "M" not in found and "d" not in found:
        time = time.replace(month=1)
    days = found.get("d", found.get("D", 1)) - 1
    hours = found.get("H", found.get("k", 0) % 24)
    if "h" in found or "K" in found:
        hours = found.get("h", found.get("K", 0)) % 12 + 12 * found.get("a", 0)
    try:
        return time + dt.timedelta(
            days=days,
            hours=hours,
            minutes=found.get("m", 0) - found.get("offset", 0),
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )
    except OverflowError as error:
        raise ValueError("beyond the years that dates can have") from error
