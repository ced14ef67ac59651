"""A full screen with a list."""

from __future__ import annotations

from typing import TypeVar

from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen

from tui.screens.base.key_catching import ReportsKeys
from tui.screens.base.navigation import ScreenStarted
from tui.widgets.bars import Bar, StatusBar
from tui.widgets.grid import Grid

Returned = TypeVar("Returned")


def closing(keys: str) -> Binding:
    """The binding of the keys that leave a screen; a screen is also left by the key that opens it."""
    return Binding(keys, "close", "close", key_display="esc")


class ListScreen(Screen[Returned], ReportsKeys):
    """Subclasses compose a title (`#title`), the list and bars. Enter opens the current row."""

    DEFAULT_CSS = """
    ListScreen { background: $background; color: $foreground; }
    ListScreen #title { background: $surface; padding: 0 1; }
    ListScreen Grid { height: 1fr; }
    """

    is_started = False

    def on_mount(self) -> None:
        self.grid.focus()
        self.is_started = True
        self.post_message(ScreenStarted())

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    def head(self, words: str, end: str = "") -> None:
        """Sets the title: the subject on the left, numbers on the right."""
        left = Content.assemble(("headrace", "bold $accent"), f"  {words}")
        self.query_one("#title", Bar).put(left, Content.assemble((end, "$text-muted")))

    def report(self, text: str, kind: str = "info") -> None:
        self.query_one(StatusBar).report(text, kind)

    def moved(self) -> None:
        """The cursor has moved to another row."""

    def opened(self, key: str) -> None:
        """Opens the row with this key."""
        raise NotImplementedError

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.moved()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.opened(event.key)

    def action_open(self) -> None:
        self.grid.action_open()

    def action_close(self) -> None:
        self.dismiss(None)
