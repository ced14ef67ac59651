"""Plots in block characters: sparklines of one line, and plots of several lines."""

from __future__ import annotations

from collections.abc import Sequence

from tui import formatting

BLOCKS = " ▁▂▃▄▅▆▇█"
UNKNOWN = "·"

Values = Sequence[float | None]


def spark(values: Values, width: int) -> str:
    """A sparkline of the newest values, right-aligned."""
    return plot(values, width, 1)[0]


def plot(values: Values, width: int, height: int, top: float = 0.0) -> list[str]:
    """A plot of `height` lines, from the top; unknown values are dots at the bottom, zero is a thin line. `top` is the
    value at its upper edge; 0 means the highest value."""
    shown = list(values)[-width:] if width > 0 else []
    top = top or peak(shown)
    rows = range(height - 1, -1, -1)
    return ["".join(_cell(value, top, row, height) for value in shown).rjust(width) for row in rows]


def peak(values: Values) -> float:
    """The highest known value, or 0."""
    return max((value for value in values if value is not None), default=0.0)


def _cell(value: float | None, top: float, row: int, height: int) -> str:
    if value is None:
        return UNKNOWN if row == 0 else " "
    eighths = round(value / top * height * 8) if top > 0 else 0
    if row == 0:
        return BLOCKS[min(max(eighths, 1), 8)]
    return BLOCKS[min(max(eighths - 8 * row, 0), 8)]


def short(number: float | None, unit: str = "") -> str:
    """A number with its unit: `12.3k records`, `1 record`, or `–` if unknown."""
    if number is None:
        return "–"
    text = formatting.short(round(number)) if number >= 100 or number == int(number) else f"{number:.1f}"
    return f"{text} {unit.removesuffix('s') if text == '1' else unit}".rstrip()
