"""The menus of the list: its orders, of which the current one is reversed by its key, and its saved views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType

from tui.screens.base.key_menu import KeyMenu
from tui.screens.listing.ordering import ORDERS, ListOrder
from tui.screens.listing.views import View
from tui.widgets.text import visible

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


class ViewChoice(NamedTuple):
    """A letter, and the sign typed before it: `+` saves, `-` removes, none shows."""

    letter: str
    sign: str = ""


class ViewsMenu(KeyMenu[ViewChoice]):
    """`present` is the view of the list now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "close", "close", key_display="esc"),
        Binding("plus", "sign('+')", "save this view", key_display="+"),
        Binding("minus", "sign('-')", "remove a view", key_display="-"),
    ]

    def __init__(self, views: Mapping[str, View], present: View) -> None:
        super().__init__()
        self.views, self.present, self.sign = views, present, ""

    def heading(self) -> str:
        texts = {"+": "a letter for this view (a to z)", "-": "the letter of the view to remove"}
        return texts.get(self.sign, "views of this cluster")

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        for letter, view in self.views.items():
            lines += [(f"  {letter}", "bold $accent"), f"  {visible(view.text)}\n"]
        if not lines:
            lines.append(("  none saved yet\n", "$text-muted"))
        return [*lines, ("\n  now", "$text-muted"), f"  {visible(self.present.text)}"]

    def action_sign(self, sign: str) -> None:
        self.sign = "" if self.sign == sign else sign
        self.draw()

    def on_key(self, event: events.Key) -> None:
        letter = event.character or ""
        if len(letter) == 1 and letter.isascii() and letter.islower():
            event.stop()
            event.prevent_default()
            if self.sign == "+" or letter in self.views:
                self.dismiss(ViewChoice(letter, self.sign))
