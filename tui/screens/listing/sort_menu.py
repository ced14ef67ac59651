"""The menu of the list's orders: one key each; the key of the current order reverses it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.screens.base.key_menu import KeyMenu
from tui.screens.listing.ordering import ORDERS, ListOrder

REVERSE = "r"


class SortMenu(KeyMenu[ListOrder]):
    """Returns the chosen order, or None."""

    DEFAULT_CSS = "SortMenu > Vertical { width: 62; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,S,ctrl+c", "close", "close", key_display="esc"),
        Binding(REVERSE, "reverse", "reverse the order"),
        *(Binding(order.key, f"pick('{name}')", name, show=False) for name, order in ORDERS.items()),
    ]

    def __init__(self, current: ListOrder) -> None:
        super().__init__()
        self.current = current

    def heading(self) -> str:
        return "sort the list by"

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        for name, order in ORDERS.items():
            is_current = name == self.current.by
            now = ("reversed; " if self.current.reverse else "") + "again reverses" if is_current else order.first
            lines += [
                (f"  {order.key}", "bold $accent"),
                (f"  {name:<12}", "bold" if is_current else ""),
                (now, "$text-muted"),
                "\n",
            ]
        return lines

    def action_pick(self, name: str) -> None:
        self.dismiss(self.current.then(name))

    def action_reverse(self) -> None:
        self.dismiss(self.current.then(self.current.by))
