"""The order of a grid's rows by one of its columns, from the texts of the cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tui.widgets.columns import Column

UNKNOWN = ("", "-", "–", "…")
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = re.compile(r"([+−-]?)([\d,]+(?:\.\d+)?) ?([A-Za-z]*)")
_DIGITS = re.compile(r"(\d+)")
Natural = tuple[tuple[int, int, str], ...]


class ColumnOrder(NamedTuple):
    """Rows by the column with this key; empty for the order of the screen."""

    column: str = ""
    reverse: bool = False

    @property
    def arrow(self) -> str:
        return "↓" if self.reverse else "↑"

    def then(self, column: Column) -> ColumnOrder:
        """The order after a click on a heading: numbers begin with the largest; a second click reverses, a third one
        returns to the order of the screen."""
        if column.key != self.column:
            return ColumnOrder(column.key, column.right)
        return ColumnOrder(column.key, not self.reverse) if self.reverse is column.right else ColumnOrder()

    def following(self, columns: Sequence[Column]) -> ColumnOrder:
        """The next order for a key: both directions of each column, then the order of the screen."""
        keys = [column.key for column in columns]
        if self.column in keys and (order := self.then(columns[keys.index(self.column)])).column:
            return order
        place = keys.index(self.column) + 1 if self.column in keys else 0
        return ColumnOrder().then(columns[place]) if place < len(columns) else ColumnOrder()

    def sorted(self, keys: Sequence[str], text: Callable[[str], str], is_number: bool) -> list[str]:
        """The keys by the texts of their cells; unknown values come last, equal ones keep their order."""
        if not self.column:
            return list(keys)
        values = [(key, (number(text(key)) if is_number else natural(text(key)))) for key in keys]
        known: list[tuple[str, float | Natural]] = [(key, value) for key, value in values if value is not None]
        known.sort(key=lambda pair: pair[1], reverse=self.reverse)
        return [key for key, _ in known] + [key for key, value in values if value is None]


def number(text: str) -> float | None:
    """The number at the start of a text, such as `1,234`, `12.3k behind`, `5 min`; None without one."""
    match = _NUMBER.match(text.strip())
    if match is None:
        return None
    value = float(match[2].replace(",", "")) * UNITS.get(match[3], 1.0)
    return -value if match[1] in ("-", "−") else value


def natural(text: str) -> Natural | None:
    """A key that sorts numbers in names by their values, and letters without their case; None for an unknown value."""
    if text.strip() in UNKNOWN:
        return None
    parts = _DIGITS.split(text.casefold())
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
