"""Fast formatting and parsing for date patterns whose fields have a fixed width, such as `yyyy-MM-dd'T'HH:mm:ss.SSSX`.

A reader returns None for texts in any other form, which DatePattern then parses field by field.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Protocol


class Token(Protocol):
    """A field of a pattern, or literal text (without a letter)."""

    @property
    def letter(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def text(self) -> str: ...


_WIDTHS = {"y": 4, "M": 2, "d": 2, "H": 2, "m": 2, "s": 2, "S": 3}
_NAMES = {
    "y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "microsecond",
}  # fmt: skip
_UTC = {"X": "Z", "Z": "+0000"}
_UTC_READ = {"X": "Z", "Z": r"\+0000"}
_ISO = "{y}-{M}-{d}T{H}:{m}:{s}.{S}+00:00"
_DEFAULTS = {"y": "1970", "M": "01", "d": "01", "H": "00", "m": "00", "s": "00", "S": "000"}


def fixed_width_writer(tokens: Sequence[Token]) -> Callable[[dt.datetime], str] | None:
    """A function that formats times; None for other patterns."""
    letters = _letters(tokens)
    if letters is None:
        return None
    form, length, cut = "", 0, None
    for token in tokens:
        text = _UTC.get(token.letter, token.text)
        if token.letter == "S":  # microseconds, whose last three digits are cut off below
            form, cut = form + "%06d", length + 3
        else:
            form += f"%0{token.width}d" if token.letter in _WIDTHS else text.replace("%", "%%")
        length += _WIDTHS.get(token.letter, len(text))
    take = attrgetter(*(_NAMES[letter] for letter in letters))
    if cut is None:
        return lambda time: form % take(time)
    return lambda time: (text := form % take(time))[:cut] + text[cut + 3 :]


def fixed_width_reader(tokens: Sequence[Token]) -> Callable[[str], dt.datetime | None] | None:
    """A function that parses texts; None for other patterns."""
    letters = _letters(tokens)
    if letters is None:
        return None
    match = re.compile("".join(map(_expression, tokens, [*tokens[1:], None]))).match
    form = _ISO.format(**{letter: "%s" if letter in letters else _DEFAULTS[letter] for letter in _WIDTHS})
    groups = [letters.index(letter) + 1 for letter in _WIDTHS if letter in letters]

    def read(text: str) -> dt.datetime | None:
        matched = match(text)
        if matched is None:
            return None
        try:
            return dt.datetime.fromisoformat(form % matched.group(*groups))
        except ValueError:  # a field is out of range
            return None

    return read


def _letters(tokens: Sequence[Token]) -> list[str] | None:
    """The letters of the numeric fields; None if the pattern has other fields, or a field twice."""
    letters = [token.letter for token in tokens if token.letter in _WIDTHS]
    fixed = all(
        not token.letter or token.letter in _UTC or _WIDTHS.get(token.letter) == token.width for token in tokens
    )
    return letters if fixed and letters and len(set(letters)) == len(letters) else None


def _expression(token: Token, following: Token | None) -> str:
    """A number must end after its width, unless another field follows: Java reads digits of any script, and
    exponents."""
    if token.letter not in _WIDTHS:
        return _UTC_READ.get(token.letter) or re.escape(token.text)
    abuts = following is not None and following.letter in _WIDTHS
    return f"([0-9]{{{token.width}}})" + ("" if abuts else r"(?![\dE])")
