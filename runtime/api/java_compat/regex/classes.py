"""Character classes in brackets, with unions and intersections, as sets of the regex package."""

from __future__ import annotations

from runtime.api.java_compat.regex import escapes
from runtime.api.java_compat.regex.cases import variants, variants_of_range
from runtime.api.java_compat.regex.cursor import Cursor
from runtime.api.java_compat.regex.escapes import literal


def single(char: str, cursor: Cursor) -> str:
    """A character, in upper and lower case if the flags ignore case."""
    spellings = variants(char, "u" in cursor.flags) if "i" in cursor.flags else char
    return literal(char) if len(spellings) == 1 else f"[{''.join(map(literal, spellings))}]"


def character_class(cursor: Cursor, closes: bool = True) -> str:
    """The class that starts at the cursor, or the right side of an intersection (`closes` is False)."""
    found = ""  # the content of the set
    char = cursor.next()
    negated = char == "^" and cursor.chars[cursor.at - 1] == "["
    if negated:
        char = cursor.next()
    while True:
        if char == "[":
            found += character_class(cursor)
        elif char == "&" and cursor.next() == "&":
            found = _intersection(found, cursor)
        elif char == "]" and found:
            if closes:
                cursor.next()
            return f"[^{found}]" if negated else f"[{found}]"
        else:
            if char == "&":
                cursor.at -= 1
            if char == "\0" and cursor.ended:
                raise cursor.error("Unclosed character class")
            found += _range(cursor)
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
        found = _escaped(cursor, in_range)
        if len(found) > 1:
            return found
        first = found
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
    found = escapes.character_set(letter, cursor) or escapes.character(letter, cursor)
    if found is None:
        raise cursor.error("Illegal/unsupported escape sequence")
    return found
