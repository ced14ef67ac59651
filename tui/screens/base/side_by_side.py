"""Two versions of something side by side: a table of names with both values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from textual.content import Content

from tui.widgets.text import fit, visible

GAP = 2  # cells between columns
Part = str | tuple[str, str]
Row = tuple[str, str, str]  # a name, and its value in both versions


def in_columns(headings: Row, rows: Sequence[Row], width: int, absent: str) -> Content:
    """The rows in `width` cells, long values folded; equal values are muted, and so is `absent`, the text for none."""
    key = min(max((cell_len(visible(name)) for name, _, _ in rows), default=0), max(16, width // 3))
    left = max(8, (width - key - 2 * GAP) // 2)
    right = max(8, width - key - 2 * GAP - left)
    sizes = key, left, right
    parts: list[Part] = [(_row([text.upper() for text in headings], sizes), "bold $text-muted"), "\n"]
    for row in rows:
        styles = ("bold", _style(row, 1, "$error", absent), _style(row, 2, "$success", absent))
        folded = [chop_cells(visible(text), size) or [""] for text, size in zip(row, sizes, strict=True)]
        for line in zip_longest(*folded, fillvalue=""):
            for text, style, size in zip(line, styles, sizes, strict=True):
                parts += [(fit(text, size), style), " " * GAP]
            parts[-1] = "\n"
    return Content.assemble(*parts)


def _style(row: Row, column: int, style: str, absent: str) -> str:
    return "$text-muted" if row[1] == row[2] or row[column] == absent else style


def _row(texts: Sequence[str], sizes: Sequence[int]) -> str:
    return (" " * GAP).join(fit(visible(text), size) for text, size in zip(texts, sizes, strict=True))
