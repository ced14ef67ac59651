"""Parts of an expression and how often they repeat."""

from __future__ import annotations

from typing import NamedTuple

from runtime.api.java_compat.regex.cursor import Cursor

_MOST_INT = (1 << 31) - 1
_LONGEST = 10_000
"""More repetitions than any matched text has characters (topic names have a few hundred at most), so larger counts can
be limited to this one. The regex package takes memory for each repetition."""


class Fragment(NamedTuple):
    """An expression of the regex package, with the lengths that Java's check of look-behinds uses."""

    text: str
    least: int  # characters
    most: int | None  # in Java's 32-bit arithmetic; None without a bound
    certain: bool = True  # the part matches in one way only
    size: int = 1  # copies of the part in memory
    still: bool = False  # an assertion, which matches no characters
    checked: bool = False  # Java checks whether adding `most` to the parts before overflows


def sequence(parts: list[Fragment]) -> Fragment:
    return Fragment(
        "".join(part.text for part in parts),
        sum(part.least for part in parts),
        _total(parts),
        all(part.certain for part in parts),
        sum(part.size for part in parts) or 1,
        all(part.still for part in parts),
        any(part.checked for part in parts),
    )


def alternatives(parts: list[Fragment]) -> Fragment:
    if len(parts) == 1:
        return parts[0]
    most = [part.most for part in parts]
    return Fragment(
        "|".join(part.text for part in parts),
        min(part.least for part in parts),
        None if None in most else max(length for length in most if length is not None),
        False,
        sum(part.size for part in parts),
        all(part.still for part in parts),
    )


def _total(parts: list[Fragment]) -> int | None:
    total = 0
    for part in parts:
        if part.most is None:
            return None
        before, total = total, _int32(total + part.most)
        if part.checked and total < before:
            return None
    return total


def _int32(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def quantified(part: Fragment, cursor: Cursor, group: bool = False) -> Fragment:
    """The part with its quantifier, if any."""
    char = cursor.peek()
    if char == "?":
        return _times(part, 0, 1, _manner(cursor), group)
    if char in "*+":
        return _times(part, int(char == "+"), None, _manner(cursor), group)
    if char != "{":
        return part
    least, most = _counts(cursor)
    return _times(part, least, most, _manner(cursor), group)


def _manner(cursor: Cursor) -> str:
    """Greedy (empty), reluctant or possessive; skips the last character of the quantifier."""
    char = cursor.next()
    if char in "?+":
        cursor.next()
        return char
    return ""


def _counts(cursor: Cursor) -> tuple[int, int | None]:
    """The bounds of {n}, {n,} or {n,m}; the cursor stays at the closing brace."""
    char = cursor.raw(1)
    cursor.at += 2
    if not _is_digit(char):
        raise cursor.error("Illegal repetition")
    least, char = _number(char, cursor)
    most: int | None = least
    if char == ",":
        char = cursor.read()
        if char == "}":
            most = None
        else:
            most, char = _number(char, cursor)
    if char != "}":
        raise cursor.error("Unclosed counted closure")
    if most is not None and most < least:
        raise cursor.error("Illegal repetition range")
    cursor.at -= 1
    return least, most


def _number(char: str, cursor: Cursor) -> tuple[int, str]:
    number = 0
    while _is_digit(char):
        number = number * 10 + int(char)
        if number > _MOST_INT:
            raise cursor.error("Illegal repetition range")
        char = cursor.read()
    return number, char


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _times(part: Fragment, least: int, most: int | None, manner: str, group: bool) -> Fragment:
    length = _longest(part, least, most, manner, group)
    plain = most is None and not (manner or group or part.still)
    checked = not plain and (least, most) != (0, 1)
    text = f"(?:{part.text})" if part.still or not part.text else part.text
    shortest, never = part.least * least, ""
    if shortest > _LONGEST:
        never, least, most = "(?!)", 1, 1
    elif part.size * least > _LONGEST:
        least = max(1, _LONGEST // part.size)
        most = None if most is None else max(least, most)
    if part.still and (least, most) != (1, 1):  # repeating an assertion changes nothing
        least, most = min(least, 1), 1 if most is None else min(most, 1)
    times = f"{{{least},{'' if most is None else most}}}"
    return Fragment(
        never + text + {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}.get(times, times) + manner,
        shortest,
        length,
        part.certain and least == most,
        max(1, part.size * max(1, least)),
        part.still,
        checked,
    )


def _longest(part: Fragment, least: int, most: int | None, manner: str, group: bool) -> int | None:
    """The longest text that the repeated part matches, as Java calculates it."""
    loop = group and not part.certain and manner != "+" and (least, most) != (0, 1)
    if part.most is None or loop:
        return None
    length = _int32(part.most * (_MOST_INT if most is None else most))
    return length if length >= 0 else None
