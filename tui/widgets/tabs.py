"""Tabs for the pages, numbered by their keys, and shortened to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from textual import events
from textual.content import Content
from textual.message import Message

from tui.widgets.bars import Bar


class Tabs(Bar, can_focus=False):
    """`1 overview  2 tasks …`, or `1 ove 2 tas 3 config …` if there is less space; the open page keeps its name."""

    DEFAULT_CSS = "Tabs { padding: 0 1; }"

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, names: Sequence[str], short: Mapping[str, str] = MappingProxyType({}), id: str | None = None):
        super().__init__(id)
        self.names, self.short, self.index = list(names), dict(short), 0
        self.marks: dict[str, str] = {}

    def pick(self, index: int, marks: dict[str, str] | None = None) -> None:
        """Selects a tab; `marks` are appended to the names."""
        self.index = index
        if marks is not None:
            self.marks = marks
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        words, gap = self.arranged(self.content_size.width)
        parts: list[str | Content | tuple[str, str]] = []
        for place, word in enumerate(words):
            ink = "bold $accent underline" if place == self.index else "$text-muted"
            mark = self.marks.get(self.names[place], "")
            parts += [(f"{place + 1} ", "$text-muted"), (word, ink), (mark, "$error"), gap]
        self.put(Content.assemble(*parts))

    def arranged(self, width: int) -> tuple[list[str], str]:
        """The names that fit, and the gap between them."""
        words = self.names
        for short in (dict[str, str](), self.short, *({name: name[:n] for name in self.names} for n in (4, 3, 2))):
            words = [short.get(name, name) if place != self.index else name for place, name in enumerate(self.names)]
            for gap in ("  ", " "):
                if self._width(words, gap) <= width:
                    return words, gap
        return words, " "

    def _width(self, words: Sequence[str], gap: str) -> int:
        return sum(2 + len(word) + len(gap) for word in words) - len(gap) + sum(map(len, self.marks.values()))

    def on_click(self, event: events.Click) -> None:
        at, (words, gap) = 0, self.arranged(self.content_size.width)
        for place, word in enumerate(words):
            at += 2 + len(word) + len(self.marks.get(self.names[place], "")) + len(gap)
            if event.x - 1 < at:
                self.post_message(self.Picked(place))
                return
