"""Amounts as people read them."""

from __future__ import annotations


def short(number: int) -> str:
    """`999`, `12.3k`, `4.5M`: three digits that matter."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 task`, `3 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def span(seconds: float) -> str:
    """How long: `8 s`, `4 min`, `3 h`, `2 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
