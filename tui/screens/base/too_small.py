"""The screen shown while the terminal is too small."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.screens.base import program
from tui.widgets.text import visible

MIN_SIZE = Size(60, 15)


class TooSmall(ModalScreen[None]):
    """Closes when the terminal is large enough again. Quitting asks for confirmation here too."""

    DEFAULT_CSS = """
    TooSmall { align: center middle; background: $background; }
    TooSmall Static { width: 100%; height: auto; text-align: center; color: $warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", "quit"),
        Binding("y", "yes", "yes", show=False),
        Binding("n,escape", "no", "no", show=False),
    ]

    def __init__(self, size: Size) -> None:
        """`size` is that of the terminal, which the app may learn later."""
        super().__init__()
        self._first_size = size
        self.losses: list[str] = []  # what quitting would lose, one line each

    def compose(self) -> ComposeResult:
        yield Static(self.words(self._first_size), markup=False)

    def set_size(self, size: Size) -> None:
        self.query_one(Static).update(self.words(size))

    def words(self, size: Size) -> Content:
        if self.losses:
            return Content("\n".join(["quit? y/n", *map(visible, self.losses)]))
        return Content(
            f"{size.width}×{size.height} is too small\nplease enlarge to {MIN_SIZE.width}×{MIN_SIZE.height}\nq quits"
        )

    def action_quit(self) -> None:
        self.losses = program.of(self).losses
        if self.losses:
            self.set_size(self.app.size)
        else:
            self.app.exit(0)

    def action_yes(self) -> None:
        if self.losses:
            program.of(self).discard_texts()
            self.app.exit(0)

    def action_no(self) -> None:
        self.losses = []
        self.set_size(self.app.size)


def is_too_small(size: Size) -> bool:
    return size.width < MIN_SIZE.width or size.height < MIN_SIZE.height
