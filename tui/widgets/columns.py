"""Which columns of a grid are shown at a width, and how wide: pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GAP = 2  # blanks between columns


class Column(NamedTuple):
    """`width` cells at least; up to what its content wants when `grows`. Columns of a high rank go first."""

    key: str
    title: str
    width: int
    rank: int = 0  # 0: never dropped
    grows: bool = False
    right: bool = False
    middle: bool = False  # what is too long is cut there: names differ at their ends


def arrange(columns: Sequence[Column], wanted: Mapping[str, int], space: int) -> list[tuple[Column, int]]:
    """The columns that fit into `space` cells with their widths; `wanted` says how wide the content is by key."""
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
    if spare < 0 and shown:  # nothing left to drop: the first one gives
        widths[shown[0].key] = max(4, shown[0].width + spare)
    return [(column, widths[column.key]) for column in shown]


def _least(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * max(0, len(columns) - 1)
