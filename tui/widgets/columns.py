"""The choice of a grid's columns and their widths for an available width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GAP = 2  # cells between columns


class Column(NamedTuple):
    """A column of at least `width` cells, more if it `grows`. Columns of the highest rank are dropped first."""

    key: str
    title: str
    width: int
    rank: int = 0  # 0: never dropped
    grows: bool = False
    right: bool = False
    middle: bool = False  # whether long text is cut in the middle, since names differ at their ends


def arrange(columns: Sequence[Column], wanted: Mapping[str, int], space: int) -> list[tuple[Column, int]]:
    """The columns that fit into `space` cells, with their widths; `wanted` has the content's width by column key."""
    shown = list(columns)
    while _least(shown) > space and any(column.rank for column in shown):
        shown.remove(max(shown, key=lambda column: column.rank))
    spare = space - _least(shown)
    widths = {column.key: column.width for column in shown}
    for column in shown:
        if column.grows and spare > 0:
            more = min(spare, max(0, wanted.get(column.key, 0) - column.width))
            widths[column.key] += more
            spare -= more
    if spare < 0 and shown:  # no column can be dropped: the first one shrinks
        widths[shown[0].key] = max(4, shown[0].width + spare)
    return [(column, widths[column.key]) for column in shown]


def _least(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * max(0, len(columns) - 1)
