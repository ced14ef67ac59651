"""Tabs for the pages, numbered by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message

from tui.widgets.bars import Bar


class Arrangement(NamedTuple):
    """The names that fit, the gap between tabs, and whether marks stand between number and name to save space."""

    words: list[str]
    gap: str
    tight: bool


class Tabs(Bar, can_focus=False):
    """`1 overview  2 tasks …`; all names fit into 80 columns. With less space they lose their ends, `1 ove 2 tas`, and
    the open page keeps its name."""

    DEFAULT_CSS = "Tabs { padding: 0 0 0 1; }"

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, names: Sequence[str], id: str | None = None):
        super().__init__(id)
        self.names, self.index = list(names), 0
        self.marks: dict[str, str] = {}

    def pick(self, index: int, marks: dict[str, str] | None = None) -> None:
        """Selects a tab; `marks` are characters shown with the names."""
        self.index = index
        if marks is not None:
            self.marks = marks
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        words, gap, tight = self.arranged(self.content_size.width)
        parts: list[str | Content | tuple[str, str]] = []
        for place, word in enumerate(words):
            style = "bold $accent underline" if place == self.index else "$text-muted"
            mark = self.marks.get(self.names[place], "")
            parts += [(f"{place + 1}", "$text-muted"), (mark if mark and tight else " ", "$error"), (word, style)]
            parts += [(f" {mark}" if mark and not tight else "", "$error"), gap]
        self.put(Content.assemble(*parts[:-1]))

    def arranged(self, width: int) -> Arrangement:
        """The arrangement for a width in columns."""
        arrangement = Arrangement(self.names, "  ", False)
        for length in (None, 4, 3, 2):
            words = [name if place == self.index else name[:length] for place, name in enumerate(self.names)]
            for gap, tight in (("  ", False), (" ", False), (" ", True)):
                arrangement = Arrangement(words, gap, tight)
                if sum(self._widths(arrangement)) - len(gap) <= width:
                    return arrangement
        return arrangement

    def _widths(self, arrangement: Arrangement) -> Iterator[int]:
        """The columns of each tab and the gap behind it."""
        words, gap, tight = arrangement
        for name, word in zip(self.names, words, strict=True):
            mark = self.marks.get(name, "")
            yield 2 + len(word) + (1 + len(mark) if mark and not tight else 0) + len(gap)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for place, width in enumerate(self._widths(self.arranged(self.content_size.width))):
            at += width
            if event.x - 1 < at:
                self.post_message(self.Picked(place))
                return
