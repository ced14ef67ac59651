"""Assertions at the boundaries of text, lines and words, depending on Java's flags."""

from __future__ import annotations

from runtime.api.java_compat.regex import properties
from runtime.api.java_compat.regex.cursor import Cursor

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_NOT_WITHIN_CRLF = r"(?<!\r(?=\n))"
_LETTERS = r"[\p{L}\p{Nd}_]"


def assertion(letter: str, cursor: Cursor) -> str | None:
    r"""The assertions \A, \G, \z, \Z, \b and \B; None for other escapes. Patterns are always matched from the
    start of a text, so \G equals \A."""
    if letter in "AG":
        return r"\A"
    if letter == "z":
        return r"\Z"
    if letter == "Z":
        return line_end(cursor.flags, False)
    return _boundary(letter, cursor) if letter in "bB" else None


def line_start(flags: frozenset[str]) -> str:
    """The start of the text, or of each line (flag m)."""
    if "m" not in flags:
        return r"\A"
    if "d" in flags:
        return r"(?:(?:\A|(?<=\n))(?!\Z))"
    return rf"(?:(?:\A|(?<=[{_LINE_ENDS}])){_NOT_WITHIN_CRLF}(?!\Z))"


def line_end(flags: frozenset[str], each: bool) -> str:
    """The end of the text, or of each line."""
    if "d" in flags:
        return r"(?=\n|\Z)" if each else r"(?=\n?\Z)"
    if each:
        return rf"(?:{_NOT_WITHIN_CRLF}(?=[{_LINE_ENDS}]|\Z))"
    return rf"(?:{_NOT_WITHIN_CRLF}(?=(?:\r\n|[{_LINE_ENDS}])?\Z))"


def any_character(flags: frozenset[str]) -> str:
    """The characters that a dot matches."""
    if "s" in flags:
        return r"[\x00-\U0010ffff]"
    return r"[^\n]" if "d" in flags else f"[^{_LINE_ENDS}]"


def _boundary(letter: str, cursor: Cursor) -> str:
    if letter == "b" and cursor.peek() == "{" and cursor.raw(1) == "g":
        raise cursor.error("Boundaries of grapheme clusters are not supported")
    word = properties.WORD if "U" in cursor.flags else _LETTERS
    if letter == "b":
        return rf"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    return rf"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
