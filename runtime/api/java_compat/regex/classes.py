"""Character classes in brackets, with unions and intersections, as sets of the regex package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from runtime.api.java_compat.regex import escapes
from runtime.api.java_compat.regex.cursor import Cursor
from runtime.api.java_compat.regex.escapes import literal

_LAST_CASED = 0x1E943


def _simple(changed: str, char: str) -> str:
    return changed if len(changed) == 1 else char


def _fold(char: str) -> str:
    upper = _simple(char.upper(), char)
    return "i" if upper == "\u0130" else _simple(upper.lower(), upper)


@cache
def _families() -> dict[str, str]:
    """The characters of each case folding that several characters share."""
    spellings: dict[str, str] = {}
    for char in map(chr, range(_LAST_CASED + 1)):
        folded = _fold(char)
        if folded != char:
            spellings[folded] = spellings.get(folded, folded) + char
    return spellings


def variants(char: str, unicode: bool) -> str:
    """The character and all that differ from it only by case, in ASCII or Unicode."""
    if unicode:
        return _families().get(_fold(char), char)
    return char.lower() + char.upper() if char.isascii() and char.isalpha() else char


def variants_of_range(first: str, last: str, unicode: bool) -> Iterator[str]:
    """The characters that are in the range after a change of case."""
    if not unicode:
        for code in range(max(ord(first), 65), min(ord(last), 122) + 1):
            if chr(code).isalpha():
                yield chr(code).swapcase()
        return
    for folded, family in _families().items():
        if any(first <= char <= last for char in family):
            yield folded
            yield from family


def single(char: str, cursor: Cursor) -> str:
    """A character, in upper and lower case if the flags ignore case."""
    spellings = variants(char, "u" in cursor.flags) if "i" in cursor.flags else char
    return literal(char) if len(spellings) == 1 else f"[{''.join(map(literal, spellings))}]"


def character_class(cursor: Cursor, closes: bool = True) -> str:
    """The class that starts at the cursor, or the right side of an intersection (`closes` is False)."""
    content = ""  # the content of the set
    char = cursor.next()
    negated = char == "^" and cursor.chars[cursor.at - 1] == "["
    if negated:
        char = cursor.next()
    while True:
        if char == "[":
            content += character_class(cursor)
        elif char == "&" and cursor.next() == "&":
            content = _intersection(content, cursor)
        elif char == "]" and content:
            if closes:
                cursor.next()
            return f"[^{content}]" if negated else f"[{content}]"
        else:
            if char == "&":
                cursor.at -= 1
            if char == "\0" and cursor.ended:
                raise cursor.error("Unclosed character class")
            content += _range(cursor)
        char = cursor.peek()


def _intersection(left: str, cursor: Cursor) -> str:
    right = ""
    char = cursor.next()
    while char not in "]&":
        if char == "[":
            right += character_class(cursor)
        else:
            cursor.at -= 1
            right += character_class(cursor, closes=False)
        char = cursor.peek()
    if not left:
        if not right:
            raise cursor.error("Bad class syntax")
        return f"[{right}]"
    return f"[[{left}]&&[{right}]]" if right else f"[{left}]"


def _range(cursor: Cursor) -> str:
    """One character, a range of them, or a set."""
    first = cursor.peek()
    if first == "\\":
        cursor.at += 1
        if cursor.raw() in "pP":
            return escapes.family(cursor)
        in_range = cursor.raw(1) == "-"
        escaped = _escaped(cursor, in_range)
        if len(escaped) > 1:
            return escaped
        first = escaped
    else:
        cursor.next()
    if cursor.peek() != "-" or cursor.raw(1) in "[]":
        return single(first, cursor)
    last = cursor.next()
    if last == "\\":
        cursor.at += 1
        last = _escaped(cursor, True)
        if len(last) > 1:
            raise cursor.error("Illegal character range")
    else:
        cursor.next()
    if last < first:
        raise cursor.error("Illegal character range")
    others = set(variants_of_range(first, last, "u" in cursor.flags)) if "i" in cursor.flags else set()
    return f"{literal(first)}-{literal(last)}" + "".join(map(literal, sorted(others)))


def _escaped(cursor: Cursor, in_range: bool) -> str:
    """The character of an escape, or a set in brackets; the cursor is after the backslash."""
    letter = cursor.raw()
    cursor.at += 1
    if letter == "v" and in_range:
        return "\x0b"
    escaped = escapes.character_set(letter, cursor) or escapes.character(letter, cursor)
    if escaped is None:
        raise cursor.error("Illegal/unsupported escape sequence")
    return escaped
