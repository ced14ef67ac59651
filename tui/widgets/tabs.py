"""Tabs for the pages, numbered by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message

from tui.widgets.bars import LEAST_HEIGHT, Bar


class Arrangement(NamedTuple):
    """The names that fit, the gap between tabs, whether marks stand between number and name to save space, and the
    number of tabs in the first line."""

    words: list[str]
    gap: str
    tight: bool
    first: int


class Tabs(Bar, can_focus=False):
    """`1 overview  2 tasks …`; all names fit into 80 columns. With fewer columns there are two lines, and on screens
    without room for these the names lose their ends, `1 ove 2 tas`, except that of the open page."""

    DEFAULT_CSS = "Tabs { height: auto; min-height: 1; max-height: 2; padding: 0 0 0 1; }"

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
        words, gap, tight, first = self._current()
        before = self.content.plain.count("\n")
        parts: list[str | Content | tuple[str, str]] = []
        for place, word in enumerate(words):
            if place == first:
                parts[-1] = "\n"
            style = "bold $accent underline" if place == self.index else "$text-muted"
            mark = self.marks.get(self.names[place], "")
            parts += [(f"{place + 1}", "$text-muted"), (mark if mark and tight else " ", "$error"), (word, style)]
            parts += [(f" {mark}" if mark and not tight else "", "$error"), gap]
        self.put(Content.assemble(*parts[:-1]))
        if self.content.plain.count("\n") != before:
            self.refresh(layout=True)

    def _current(self) -> Arrangement:
        return self.arranged(self.content_size.width, has_two_lines=self.app.size.height >= LEAST_HEIGHT)

    def arranged(self, width: int, has_two_lines: bool = False) -> Arrangement:
        """The arrangement for a width in columns."""
        arrangement = Arrangement(self.names, "  ", False, len(self.names))
        for length in (None, 4, 3, 2):
            words = [name if place == self.index else name[:length] for place, name in enumerate(self.names)]
            for gap, tight in (("  ", False), (" ", False), (" ", True)):
                arrangement = Arrangement(words, gap, tight, len(words))
                if sum(self._widths(arrangement)) - len(gap) <= width:
                    return arrangement
            if length is None and has_two_lines and width > 0:
                return self._in_two_lines(width)
        return arrangement

    def _in_two_lines(self, width: int) -> Arrangement:
        widths = list(self._widths(Arrangement(self.names, "  ", False, 0)))
        first = next((count for count in range(len(widths), 0, -1) if sum(widths[:count]) - 2 <= width), 1)
        return Arrangement(self.names, "  ", False, first)

    def _widths(self, arrangement: Arrangement) -> Iterator[int]:
        """The columns of each tab and the gap behind it."""
        words, gap, tight, _ = arrangement
        for name, word in zip(self.names, words, strict=True):
            mark = self.marks.get(name, "")
            yield 2 + len(word) + (1 + len(mark) if mark and not tight else 0) + len(gap)

    def on_click(self, event: events.Click) -> None:
        arrangement, at = self._current(), 0
        places = range(arrangement.first) if event.y == 0 else range(arrangement.first, len(self.names))
        widths = list(self._widths(arrangement))
        for place in places:
            at += widths[place]
            if event.x - 1 < at:
                self.post_message(self.Picked(place))
                return
