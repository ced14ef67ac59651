"""Characters that differ only by case."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

_LAST_CASED = 0x1E943


def _simple(changed: str, char: str) -> str:
    return changed if len(changed) == 1 else char


def _fold(char: str) -> str:
    upper = _simple(char.upper(), char)
    return "i" if upper == "\u0130" else _simple(upper.lower(), upper)


@cache
def _families() -> dict[str, str]:
    """The characters of each case folding that several characters share."""
    found: dict[str, str] = {}
    for char in map(chr, range(_LAST_CASED + 1)):
        folded = _fold(char)
        if folded != char:
            found[folded] = found.get(folded, folded) + char
    return found


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
