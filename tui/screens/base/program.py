"""What screens may ask of the program they are in; the program itself knows all screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

from textual.dom import DOMNode

from tui.contexts.profiles import Profile

if TYPE_CHECKING:
    from tui.screens.home.screen import Home


class Program(Protocol):
    """`tui.app.HeadraceApp`."""

    homes: Mapping[str, Home]  # the main screens that were opened, by the cluster's label

    copied: str  # what became of the last copy

    @property
    def home(self) -> Home: ...

    @property
    def unsaved(self) -> list[str]: ...

    async def go_to(self, profile: Profile) -> None: ...

    def choose_theme(self, words: list[str]) -> None: ...


def of(node: DOMNode) -> Program:
    """The program of a screen or a widget."""
    return cast(Program, node.app)
