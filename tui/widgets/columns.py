"""The choice of a grid's columns and their widths for an available width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GAP = 2  # cells between columns
MINOR = 6  # the rank from which columns are dropped so that the texts of the first column are not cut
LEAST = 4  # cells that are left of a column
LONG = 64  # cells of the first column for which minor columns are dropped


class Column(NamedTuple):
    """A column of `width` cells, more if it `grows` and less if it `shrinks`, both as its content needs. Columns of the
    highest rank are dropped first."""

    key: str
    title: str
    width: int
    rank: int = 0  # 0: never dropped
    grows: bool = False
    right: bool = False
    middle: bool = False  # whether long text is cut in the middle, since names differ at their ends
    shrinks: bool = False
    narrow: int = 0  # its width, with a shorter text, where a column of rank 1 or 2 would have no room otherwise
    floor: int = 0  # the least available width for which the column is shown

    def least(self, wanted: Mapping[str, int]) -> int:
        """The least width for contents of these widths; a heading always fits, with the arrow of the order."""
        if not self.shrinks or self.key not in wanted:
            return self.width
        return min(self.width, max(wanted[self.key], len(self.title) + 1))


def arrange(columns: Sequence[Column], wanted: Mapping[str, int], space: int) -> list[tuple[Column, int]]:
    """The columns that fit into `space` cells, with their widths; `wanted` has the content's width by column key."""
    shown = [column for column in columns if column.floor <= space]
    widths = {column.key: column.least(wanted) for column in shown}
    for least_rank in (3, 1):
        while _total(shown, widths) > space and any(column.rank >= least_rank for column in shown):
            shown.remove(max(shown, key=lambda column: column.rank))
        if _total(shown, widths) > space:
            widths |= {column.key: min(widths[column.key], column.narrow) for column in shown if column.narrow}
    spare = space - _total(shown, widths)
    while shown[1:] and spare < _lacking(shown[0], widths, wanted) and shown[-1].rank >= MINOR:
        shown.pop()
        spare = space - _total(shown, widths)
    for column in shown:
        if column.narrow and 0 <= (more := column.least(wanted) - widths[column.key]) <= spare:
            widths[column.key] += more
            spare -= more
    for column in shown:
        if column.grows and spare > 0:
            more = min(spare, max(0, wanted.get(column.key, 0) - widths[column.key]))
            widths[column.key] += more
            spare -= more
    growing = [column for column in shown if column.grows] or shown[:1]
    for column in reversed(growing):  # none can be dropped any more: the last ones shrink
        less = min(max(0, -spare), max(0, widths[column.key] - LEAST))
        widths[column.key] -= less
        spare += less
    return [(column, widths[column.key]) for column in shown]


def _lacking(first: Column, widths: Mapping[str, int], wanted: Mapping[str, int]) -> int:
    """The cells by which texts of the first column are longer than its width."""
    return min(LONG, wanted.get(first.key, 0)) - widths[first.key] if first.grows else 0


def _total(columns: Sequence[Column], widths: Mapping[str, int]) -> int:
    return sum(widths[column.key] for column in columns) + GAP * max(0, len(columns) - 1)
