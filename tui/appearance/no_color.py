"""NO_COLOR: removes all colours; text that only a background colour distinguishes is drawn in reverse."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

# Theme colours that carry meaning as backgrounds: the selected row or button, a selection, the cursor of an input.
MEANINGFUL = ("cursor", "selection", "foreground", "accent", "primary", "error", "warning", "success")


class NoColorFilter(LineFilter):
    """The last line filter. Keeps bold, dim, reverse and underline (https://no-color.org)."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        super().__init__()
        self._meaningful = frozenset(Color.parse(colours[name]).rgb for name in MEANINGFUL if name in colours)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and _plain(style, self._meaningful), control) for text, style, control in segments]


@lru_cache(1024)
def _plain(style: Style, meaningful: frozenset[tuple[int, int, int]]) -> Style:
    behind = style.bgcolor.triplet if style.bgcolor is not None else None
    plain = style.without_color
    return plain + Style(reverse=True) if behind is not None and tuple(behind) in meaningful else plain
