"""A page with a list and the text of its current row, one below the other or, on broad screens, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container

from tui.screens.base.page import Page
from tui.widgets.columns import Column
from tui.widgets.grid import Grid
from tui.widgets.pager import Pager


class SplitPage(Page):
    """Subclasses set COLUMNS and bind a key to `switch`. Textual calls the handlers of this class and of subclasses.
    From BROAD columns, list and text are side by side."""

    DEFAULT_CSS = """
    SplitPage #both { height: 1fr; layout: vertical; }
    SplitPage #list { height: 2fr; }
    SplitPage #text { height: 3fr; border-top: solid $border; }
    SplitPage.-broad #both { layout: horizontal; }
    SplitPage.-broad #list, SplitPage.-broad #text { width: 1fr; height: 1fr; max-height: 100%; }
    SplitPage.-broad #text { border-top: none; border-left: solid $border; }
    """
    COLUMNS: ClassVar[Sequence[Column]] = ()
    BROAD: ClassVar[int] = 140

    def body(self) -> ComposeResult:
        with Container(id="both"):
            yield Grid(self.COLUMNS, id="list")
            yield Pager(id="text")

    @property
    def grid(self) -> Grid:
        return self.query_one("#list", Grid)

    @property
    def pager(self) -> Pager:
        return self.query_one("#text", Pager)

    def show_current(self) -> None:
        """Shows the text of the row under the cursor; called when the cursor moves."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.set_class(self.size.width >= self.BROAD, "-broad")

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.show_current()
        self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.action_switch()

    def action_switch(self) -> None:
        (self.pager if self.grid.has_focus else self.grid).focus()
