"""A text that scrolls by keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

SIDEWAYS = 8  # cells per key press


class Pager(VerticalScroll, can_focus=True):
    """Shows a `Content`, and keeps the scroll position when the content is updated."""

    DEFAULT_CSS = """
    Pager { scrollbar-size-vertical: 1; padding: 0 1; background: $background; }
    Pager > Static { width: 1fr; height: auto; }
    Pager.-sideways { overflow-x: auto; }
    Pager.-sideways > Static { width: auto; text-wrap: nowrap; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "up", show=False),
        Binding("down,j", "scroll_down", "down", show=False),
        Binding("g,home,ctrl+home", "scroll_home", "top", show=False),
        Binding("G,end,ctrl+end", "scroll_end", "end", show=False),
        Binding("ctrl+f,pagedown,space", "page_down", "page down", show=False),
        Binding("ctrl+b,pageup", "page_up", "page up", show=False),
        Binding("left,h", "sideways(-1)", "left", show=False),
        Binding("right,l", "sideways(1)", "right", show=False),
    ]

    def __init__(self, content: Content | None = None, *, id: str | None = None, sideways: bool = False) -> None:
        super().__init__(id=id, classes="-sideways" if sideways else None)
        self.content = content or Content("")

    def compose(self) -> ComposeResult:
        yield Static(self.content, markup=False)

    @property
    def columns(self) -> int:
        """The width of the text, 80 before it is known."""
        return self.scrollable_content_region.width or 80

    def put(self, content: Content, *, top: bool = False) -> None:
        """Sets the content; `top` scrolls to its start."""
        if content != self.content or content.spans != self.content.spans:
            self.content = content
            self.query_one(Static).update(content)
        if top:
            self.scroll_home(animate=False)

    def action_sideways(self, step: int) -> None:
        """Scrolls horizontally, where lines are not folded."""
        self.scroll_relative(x=step * SIDEWAYS, animate=False)
