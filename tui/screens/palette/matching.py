"""Entries of the palette, and how well they fit a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

MAX_FOUND = 200
LEAST_ABBREVIATION = 3  # letters that may match with gaps: `olag` finds `orders-lag`


class PaletteEntry(NamedTuple):
    """One line. `meaning` has further words by which it is found; `why_not` is the reason if it does not work now."""

    title: str
    kind: str
    detail: str
    run: Callable[[], object]
    meaning: str = ""
    why_not: str = ""


def best(entries: Sequence[PaletteEntry], query: str) -> list[PaletteEntry]:
    """The entries that fit every word of the query, the best first; without a query, all that work now."""
    words = query.lower().split()
    if not words:
        return [entry for entry in entries if not entry.why_not][:MAX_FOUND]
    ranked = []
    for place, entry in enumerate(entries):
        points = _points(entry, words)
        if points:
            ranked.append((-points, bool(entry.why_not), len(entry.title), place, entry))
    return [match[-1] for match in sorted(ranked)[:MAX_FOUND]]


def _points(entry: PaletteEntry, words: Sequence[str]) -> int:
    title = entry.title.lower()
    rest = f"{entry.meaning} {entry.kind} {entry.detail}".lower()
    total = 0
    for word in words:
        points = _title_points(title, word) or _rest_points(rest, word) or _gap_points(title, word)
        if not points:
            return 0
        total += points
    return total + (20 if title == " ".join(words) else 0)


def _title_points(title: str, word: str) -> int:
    at = title.find(word)
    if at < 0:
        return 0
    return 100 if at == 0 else 80 if not title[at - 1].isalnum() else 50


def _rest_points(rest: str, word: str) -> int:
    at = rest.find(word)
    while at > 0 and rest[at - 1].isalnum():  # only at the start of a word: others fit by accident
        at = rest.find(word, at + 1)
    return 40 if at >= 0 else 0


def _gap_points(title: str, word: str) -> int:
    """For an abbreviation: its letters occur in this order, and the first begins a word."""
    if len(word) < LEAST_ABBREVIATION:
        return 0
    at = -1
    for letter in word:
        at = title.find(letter, at + 1)
        if at < 0:
            return 0
    first = title.find(word[0])
    return 10 if first == 0 or not title[first - 1].isalnum() else 0


def no_matches(entries: Sequence[PaletteEntry], query: str) -> str:
    """The text shown if no entry matches, with the most similar titles."""
    titles = {entry.title.lower(): entry.title for entry in entries}
    words = {word for title in titles for word in title.split() if len(word) > 2}
    close = get_close_matches(query.lower(), list(titles), 2, 0.6)
    close = [titles[title] for title in close] or get_close_matches(query.lower(), words, 2, 0.7)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"no matches for {query!r}{meant}"
