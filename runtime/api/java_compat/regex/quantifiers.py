"""Fragments of a translated expression, and their quantifiers."""

from __future__ import annotations

from typing import NamedTuple

from runtime.api.java_compat.regex.cursor import Cursor

_MAX_INT = (1 << 31) - 1
_MAX_REPETITIONS = 10_000
"""Limits counts, since the regex package needs memory for each repetition. Matched texts are shorter: topic names have
a few hundred characters."""


class Fragment(NamedTuple):
    """A part of an expression of the regex package, with the lengths that Java checks in look-behinds."""

    text: str
    min_length: int  # characters
    max_length: int | None  # in Java's 32-bit arithmetic; None without a limit
    deterministic: bool = True  # matches in one way only
    size: int = 1  # copies in memory
    zero_width: bool = False  # an assertion, which matches no characters
    overflow_checked: bool = False  # Java checks whether adding `max_length` overflows


def sequence(parts: list[Fragment]) -> Fragment:
    """The fragments one after the other."""
    return Fragment(
        "".join(part.text for part in parts),
        sum(part.min_length for part in parts),
        _total(parts),
        all(part.deterministic for part in parts),
        sum(part.size for part in parts) or 1,
        all(part.zero_width for part in parts),
        any(part.overflow_checked for part in parts),
    )


def alternatives(parts: list[Fragment]) -> Fragment:
    """The fragments as alternatives, joined by |."""
    if len(parts) == 1:
        return parts[0]
    lengths = [part.max_length for part in parts]
    return Fragment(
        "|".join(part.text for part in parts),
        min(part.min_length for part in parts),
        None if None in lengths else max(length for length in lengths if length is not None),
        False,
        sum(part.size for part in parts),
        all(part.zero_width for part in parts),
    )


def _total(parts: list[Fragment]) -> int | None:
    total = 0
    for part in parts:
        if part.max_length is None:
            return None
        before, total = total, _int32(total + part.max_length)
        if part.overflow_checked and total < before:
            return None
    return total


def _int32(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def quantified(part: Fragment, cursor: Cursor, group: bool = False) -> Fragment:
    """The fragment with its quantifier, if it has one."""
    char = cursor.peek()
    if char == "?":
        return _times(part, 0, 1, _mode(cursor), group)
    if char in "*+":
        return _times(part, int(char == "+"), None, _mode(cursor), group)
    if char != "{":
        return part
    min_count, max_count = _counts(cursor)
    return _times(part, min_count, max_count, _mode(cursor), group)


def _mode(cursor: Cursor) -> str:
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
    min_count, char = _number(char, cursor)
    max_count: int | None = min_count
    if char == ",":
        char = cursor.read()
        if char == "}":
            max_count = None
        else:
            max_count, char = _number(char, cursor)
    if char != "}":
        raise cursor.error("Unclosed counted closure")
    if max_count is not None and max_count < min_count:
        raise cursor.error("Illegal repetition range")
    cursor.at -= 1
    return min_count, max_count


def _number(char: str, cursor: Cursor) -> tuple[int, str]:
    number = 0
    while _is_digit(char):
        number = number * 10 + int(char)
        if number > _MAX_INT:
            raise cursor.error("Illegal repetition range")
        char = cursor.read()
    return number, char


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _times(part: Fragment, min_count: int, max_count: int | None, mode: str, group: bool) -> Fragment:
    length = _longest(part, min_count, max_count, mode, group)
    plain = max_count is None and not (mode or group or part.zero_width)
    checked = not plain and (min_count, max_count) != (0, 1)
    text = f"(?:{part.text})" if part.zero_width or not part.text else part.text
    shortest, never = part.min_length * min_count, ""
    if shortest > _MAX_REPETITIONS:
        never, min_count, max_count = "(?!)", 1, 1
    elif part.size * min_count > _MAX_REPETITIONS:
        min_count = max(1, _MAX_REPETITIONS // part.size)
        max_count = None if max_count is None else max(min_count, max_count)
    if part.zero_width and (min_count, max_count) != (1, 1):  # repeating an assertion has no effect
        min_count, max_count = min(min_count, 1), 1 if max_count is None else min(max_count, 1)
    times = f"{{{min_count},{'' if max_count is None else max_count}}}"
    return Fragment(
        never + text + {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}.get(times, times) + mode,
        shortest,
        length,
        part.deterministic and min_count == max_count,
        max(1, part.size * max(1, min_count)),
        part.zero_width,
        checked,
    )


def _longest(part: Fragment, min_count: int, max_count: int | None, mode: str, group: bool) -> int | None:
    """The maximum length of the repeated fragment, as Java calculates it."""
    loop = group and not part.deterministic and mode != "+" and (min_count, max_count) != (0, 1)
    if part.max_length is None or loop:
        return None
    length = _int32(part.max_length * (_MAX_INT if max_count is None else max_count))
    return length if length >= 0 else None
