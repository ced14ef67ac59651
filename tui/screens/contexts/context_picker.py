"""The list from which another context is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Label

from tui.contexts.profiles import Profile
from tui.screens.base.pop_up import PopUp
from tui.scrubbing import without_user
from tui.widgets.columns import Column
from tui.widgets.field import TextField
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("name", "CONTEXT", 16, grows=True),
    Column("traits", "", 20),
    Column("url", "URL", 24, grows=True, rank=1),
)
MAX_ROWS = 12


class ContextPicker(PopUp[Profile | None]):
    """Returns the chosen context, or None. A context is chosen by a part of its name that no other has, or by moving to
    it: Enter alone chooses nothing. The cluster `here`, under any name, is shown and refused."""

    DEFAULT_CSS = """
    ContextPicker > Vertical { width: 76; max-width: 96%; height: auto; }
    ContextPicker .field { height: 1; margin: 0 0 1 0; }
    ContextPicker .field Input { border: none; height: 1; width: 1fr; background: $surface; padding: 0 1; }
    ContextPicker #hint { margin: 1 0 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "choose", show=False),
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("escape,ctrl+c", "close", "cancel", key_display="esc"),
    ]

    def __init__(self, title: str, profiles: Sequence[Profile], here: Profile) -> None:
        super().__init__()
        self.title_text, self.here = title, here
        self.profiles = {profile.name: profile for profile in profiles}
        self.moved = False

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        with Horizontal(classes="field"):
            yield TextField(self.action_choose, "", "a part of the name, or ↑ ↓", id="part")
        yield Grid(COLUMNS)
        yield Label("", id="hint")

    def on_mount(self) -> None:
        grid = self.query_one(Grid)
        grid.can_focus = False
        grid.styles.height = min(MAX_ROWS, len(self.profiles)) + 1
        self._show()
        self.query_one(TextField).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.moved = False
        self._show()
        self._hint("")

    @property
    def matching(self) -> list[str]:
        """The contexts with the typed part in their names; a whole name is that context alone."""
        part = self.query_one(TextField).value.strip()
        if part in self.profiles:
            return [part]
        return sorted(name for name in self.profiles if part.lower() in name.lower())

    def _show(self) -> None:
        widths = {
            "name": max(map(len, self.profiles)),
            "url": max(len(without_user(profile.url)) for profile in self.profiles.values()),
        }
        self.query_one(Grid).show(self.matching, self._row, widths, follow=True)

    def _row(self, name: str) -> Mapping[str, Cell]:
        profile = self.profiles[name]
        traits = [
            word
            for word, holds in (
                ("THIS CLUSTER", profile.is_same_cluster(self.here)),
                ("PRODUCTION", profile.production),
                ("READ-ONLY", profile.read_only),
            )
            if holds
        ]
        return {
            "name": Cell(name, "grid--error" if profile.production else "grid--strong"),
            "traits": Cell(" ".join(traits), "grid--error" if profile.production else "grid--warning"),
            "url": Cell(without_user(profile.url), "grid--muted"),
        }

    def action_move(self, step: int) -> None:
        self.moved = True
        self.query_one(Grid).action_move(step)

    def action_choose(self) -> None:
        matching = self.matching
        current = self.query_one(Grid).current
        if self.moved and current is not None:
            self._choose(current)
        elif len(matching) == 1:
            self._choose(matching[0])
        elif self.query_one(TextField).value.strip():
            self._hint(
                "no context has this in its name"
                if not matching
                else f"{len(matching)} contexts have this in their names"
            )
        else:
            self._hint("type a part of the name, or move to a context")

    def _choose(self, name: str) -> None:
        if self.profiles[name].is_same_cluster(self.here):
            self._hint(f"{visible(name)} is the cluster that is shown: choose another")
        else:
            self.dismiss(self.profiles[name])

    def _hint(self, text: str) -> None:
        self.query_one("#hint", Label).update(Content.styled(text, "$warning"))

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self._choose(event.key)
