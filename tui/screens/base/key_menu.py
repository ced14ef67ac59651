"""A menu in which every choice has a key."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.widgets.bars import Bar, KeyBar

Choice = TypeVar("Choice")


class KeyMenu(ModalScreen[Choice | None]):
    """Answers the choice, or None. Subclasses bind the keys of the choices, and a key to `close`."""

    DEFAULT_CSS = """
    KeyMenu { align: center middle; background: $background 60%; }
    KeyMenu > Vertical {
        width: 64; max-width: 96%; height: auto; background: $panel; border: round $border; padding: 0 1;
    }
    KeyMenu Bar { text-style: bold; color: $accent; }
    KeyMenu Static { height: auto; margin: 1 0; }
    KeyMenu KeyBar { background: $panel; padding: 0; }
    """

    @abstractmethod
    def heading(self) -> str:
        """The title line."""

    @abstractmethod
    def choices(self) -> list[str | tuple[str, str]]:
        """The lines with the keys, as parts with their styles."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Bar(id="title")
            yield Static(id="choices", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Show the title and the choices as they are now."""
        self.query_one("#title", Bar).put(Content(self.heading()))
        self.query_one("#choices", Static).update(Content.assemble(*self.choices()).rstrip())

    def action_close(self) -> None:
        self.dismiss(None)
