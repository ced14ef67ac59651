"""A menu in which every choice has a key."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from tui.screens.base.pop_up import PopUp
from tui.widgets.bars import Bar

Choice = TypeVar("Choice")


class KeyMenu(PopUp[Choice | None]):
    """Returns the choice, or None. Subclasses bind the keys of the choices, and a key to `close`."""

    WIDTH = 64
    DEFAULT_CSS = """
    KeyMenu > Vertical { width: 64; max-width: 96%; height: auto; }
    KeyMenu Static { height: auto; margin: 1 0; }
    """

    @abstractmethod
    def heading(self) -> str:
        """The title line."""

    @abstractmethod
    def choices(self) -> list[str | tuple[str, str]]:
        """The lines with the keys, as parts with their styles."""

    def contents(self) -> ComposeResult:
        yield Bar(id="title")
        yield Static(id="choices", markup=False)

    def on_mount(self) -> None:
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    @property
    def columns(self) -> int:
        """The columns for the choices."""
        return min(self.WIDTH, self.app.size.width * 96 // 100) - 4

    def draw(self) -> None:
        """Show the title and the choices as they are now."""
        self.query_one("#title", Bar).put(Content(self.heading()))
        self.query_one("#choices", Static).update(Content.assemble(*self.choices()).rstrip())
