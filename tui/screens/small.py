"""What is shown instead, when the terminal is too small for anything."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Static

LEAST = Size(60, 15)


class TooSmall(ModalScreen[None]):
    """Goes away by itself when there is room again."""

    DEFAULT_CSS = """
    TooSmall { align: center middle; background: $background; }
    TooSmall Static { width: 100%; height: auto; text-align: center; color: $warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,ctrl+c", "quit", "quit")]

    def compose(self) -> ComposeResult:
        yield Static(self.words(self.app.size), markup=False)

    def tell(self, size: Size) -> None:
        self.query_one(Static).update(self.words(size))

    def words(self, size: Size) -> Content:
        return Content(
            f"{size.width}×{size.height} is too small\nplease enlarge to {LEAST.width}×{LEAST.height}\nq quits"
        )

    def action_quit(self) -> None:
        self.app.exit(0)


def is_too_small(size: Size) -> bool:
    return size.width < LEAST.width or size.height < LEAST.height
