"""The list from which another context is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label

from tui.contexts.profiles import Profile
from tui.screens.base.pop_up import PopUp
from tui.scrubbing import without_user
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("name", "CONTEXT", 16, grows=True),
    Column("traits", "", 20),
    Column("url", "URL", 24, grows=True, rank=1),
)
MAX_ROWS = 12


class ContextPicker(PopUp[Profile | None]):
    """Returns the chosen context, or None. The cursor starts on the context `last`."""

    DEFAULT_CSS = """
    ContextPicker > Vertical { width: 76; max-width: 96%; height: auto; }
    ContextPicker #title { margin: 0 0 1 0; }
    ContextPicker KeyBar { margin: 1 0 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "choose", priority=True),
        Binding("escape,q,ctrl+c", "close", "cancel", key_display="esc"),
    ]

    def __init__(self, title: str, profiles: Sequence[Profile], last: str = "") -> None:
        super().__init__()
        self.title_text, self.last = title, last
        self.profiles = {profile.name: profile for profile in profiles}

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        yield Grid(COLUMNS)

    def on_mount(self) -> None:
        grid = self.query_one(Grid)
        grid.styles.height = min(MAX_ROWS, len(self.profiles)) + 1
        widths = {
            "name": max(map(len, self.profiles)),
            "url": max(len(without_user(profile.url)) for profile in self.profiles.values()),
        }
        grid.show(sorted(self.profiles), self._row, widths)
        grid.go(self.last)
        grid.focus()

    def _row(self, name: str) -> Mapping[str, Cell]:
        profile = self.profiles[name]
        traits = [
            word for word, holds in (("PRODUCTION", profile.production), ("READ-ONLY", profile.read_only)) if holds
        ]
        return {
            "name": Cell(name, "grid--error" if profile.production else "grid--strong"),
            "traits": Cell(" ".join(traits), "grid--error" if profile.production else "grid--warning"),
            "url": Cell(without_user(profile.url), "grid--muted"),
        }

    def action_open(self) -> None:
        self.query_one(Grid).action_open()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.dismiss(self.profiles[event.key])
