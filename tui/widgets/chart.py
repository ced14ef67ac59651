"""Plots with axes: a scale on the left, the time below."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from tui.widgets.plot import peak, plot, short

SCALE = 7  # cells of the scale, its line included
TICKS = (10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600)  # seconds between two ticks
LABEL = 9  # least cells from one tick to the next

Values = Sequence[float | None]


class TimeSpan(NamedTuple):
    """The time of a plot: the end in seconds since the epoch, and the seconds of each cell."""

    end: float
    step: float


def chart(values: Values, width: int, height: int) -> list[tuple[str, str]]:
    """Lines from the top, as the scale and the plot beside it; together `width` cells. The scale ends at a round number
    above the highest value."""
    room = max(1, width - SCALE)
    top = rounded_up(peak(list(values)[-room:]))
    marks = {0: short(top), height - 1: "0"} | (
        {height // 2: short(top / 2)} if height > 4 and height % 2 == 0 and top > 1 else {}
    )
    lines = plot(values, room, height, top)
    return [
        (f"{marks.get(row, ''):>{SCALE - 2}} {'┤' if row in marks else '│'}", line) for row, line in enumerate(lines)
    ]


def axis(span: TimeSpan, width: int) -> list[str]:
    """The line below a plot of `width` cells, and the clock times below its ticks."""
    room = max(1, width - SCALE)
    every = next((seconds for seconds in TICKS if seconds / span.step >= LABEL), TICKS[-1])
    line, labels = ["─"] * room, [" "] * room
    taken = -1
    offset = time.localtime(span.end).tm_gmtoff
    first = ((span.end - room * span.step + offset) // every + 1) * every - offset
    while first <= span.end:
        cell = room - 1 - int((span.end - first) / span.step)
        text = time.strftime("%H:%M:%S" if every < 60 else "%H:%M", time.localtime(first))
        start = cell - len(text) // 2
        if 0 <= cell < room:
            line[cell] = "┬"
            if start > taken and start + len(text) <= room:
                labels[start : start + len(text)] = text
                taken = start + len(text)
        first += every
    return [" " * (SCALE - 1) + "└" + "".join(line), " " * SCALE + "".join(labels)]


def rounded_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten; 1 for values up to 1, since records are whole."""
    if value <= 1:
        return 1.0
    scale = 1.0
    while scale * 10 < value:
        scale *= 10
    return next(factor * scale for factor in (1, 2, 5, 10) if factor * scale >= value)
