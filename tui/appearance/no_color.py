"""NO_COLOR: nothing of what is drawn has a colour; what only a background set apart is drawn in reverse."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

# A theme's colours that mean something behind a text: the row or button chosen, a selection, the cursor in an input.
LOUD = ("cursor", "selection", "foreground", "accent", "primary", "error", "warning", "success")


class NoColorFilter(LineFilter):
    """The last of the filters. Bold, dim, reverse and underline are kept: https://no-color.org."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        super().__init__()
        self._loud = frozenset(Color.parse(colours[name]).rgb for name in LOUD if name in colours)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and _plain(style, self._loud), control) for text, style, control in segments]


@lru_cache(1024)
def _plain(style: Style, loud: frozenset[tuple[int, int, int]]) -> Style:
    behind = style.bgcolor.triplet if style.bgcolor is not None else None
    plain = style.without_color
    return plain + Style(reverse=True) if behind is not None and tuple(behind) in loud else plain
