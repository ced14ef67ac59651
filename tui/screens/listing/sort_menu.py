"""The menu of the list's orders: one key each; the key of the current order reverses it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.screens.listing.ordering import ORDERS, ListOrder
from tui.widgets.bars import Bar, KeyBar

REVERSE = "r"


class SortMenu(ModalScreen[ListOrder | None]):
    """Answers the chosen order, or None."""

    DEFAULT_CSS = """
    SortMenu { align: center middle; background: $background 60%; }
    SortMenu > Vertical {
        width: 62; max-width: 96%; height: auto; background: $panel; border: round $border; padding: 0 1;
    }
    SortMenu Bar { text-style: bold; color: $accent; }
    SortMenu Static { height: auto; margin: 1 0; }
    SortMenu KeyBar { background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,S,ctrl+c", "close", "close", key_display="esc"),
        Binding(REVERSE, "turn", "reverse the order"),
        *(Binding(order.key, f"pick('{name}')", name, show=False) for name, order in ORDERS.items()),
    ]

    def __init__(self, current: ListOrder) -> None:
        super().__init__()
        self.current = current

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Bar(id="title")
            lines: list[str | tuple[str, str]] = []
            for name, order in ORDERS.items():
                is_current = name == self.current.by
                now = ("reversed; " if self.current.reverse else "") + "again reverses" if is_current else order.first
                lines += [
                    (f"  {order.key}", "bold $accent"),
                    (f"  {name:<11}", "bold" if is_current else ""),
                    (now, "$text-muted"),
                    "\n",
                ]
            yield Static(Content.assemble(*lines).rstrip(), markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one("#title", Bar).put(Content("sort the list by"))

    def action_pick(self, name: str) -> None:
        self.dismiss(self.current.then(name))

    def action_turn(self) -> None:
        self.dismiss(self.current.then(self.current.by))

    def action_close(self) -> None:
        self.dismiss(None)
