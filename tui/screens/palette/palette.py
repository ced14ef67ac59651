"""The palette's screen: a line to type in, and the entries that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label

from tui.screens.base.pop_up import PopUp
from tui.screens.palette.matching import PaletteEntry, best, no_matches
from tui.widgets.columns import Column
from tui.widgets.field import TextField
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

MAX_TITLE = 40  # cells, so that the detail has room beside long names
COLUMNS = (
    Column("title", "", 26, grows=True, middle=True),
    Column("kind", "", 9),
    Column("detail", "", 20, rank=1, grows=True),
)


class PaletteScreen(PopUp[PaletteEntry | None]):
    """Returns the chosen entry, or None."""

    DEFAULT_CSS = """
    PaletteScreen { align: center top; }
    PaletteScreen > Vertical { width: 96; max-width: 96%; height: 70%; margin: 2 0 0 0; }
    PaletteScreen #line { height: 1; }
    PaletteScreen #line Label { color: $accent; text-style: bold; width: 2; }
    PaletteScreen #line Input { border: none; height: 1; width: 1fr; background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "choose", key_display="enter", priority=True),
        Binding("escape,ctrl+c,ctrl+p", "close", "close", key_display="esc", priority=True),
        Binding("up,ctrl+k", "move(-1)", "up", show=False),
        Binding("down,ctrl+j,tab", "move(1)", "choose another", key_display="↑↓"),
        Binding("pageup", "move(-10)", "page up", show=False),
        Binding("pagedown", "move(10)", "page down", show=False),
    ]

    def __init__(self, entries: Sequence[PaletteEntry]) -> None:
        super().__init__()
        self.entries = entries
        self.matches: list[PaletteEntry] = []

    def contents(self) -> ComposeResult:
        with Horizontal(id="line"):
            yield Label("›", markup=False)
            yield TextField(self.action_choose, hint="a connector, topic, context, page, key or command", id="query")
        yield Grid(COLUMNS)

    def on_mount(self) -> None:
        self.query_one(Grid).can_focus = False
        self.query_one(TextField).focus()
        self.draw("")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.draw(event.value.strip())

    def draw(self, query: str) -> None:
        self.matches = best(self.entries, query)
        grid = self.query_one(Grid)
        grid.empty = no_matches(self.entries, visible(query)) if query and not self.matches else ""
        keys = [str(place) for place in range(len(self.matches))]
        widths = {
            "title": min(MAX_TITLE, max((len(entry.title) for entry in self.matches), default=0)),
            "detail": max((len(entry.detail) for entry in self.matches), default=0),
        }
        grid.show(keys, self._cells, widths, follow=True)
        if keys:
            grid.go("0")
        grid.refresh()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        if int(key) >= len(self.matches):
            return {}
        entry = self.matches[int(key)]
        return {
            "title": Cell(entry.title, "grid--muted" if entry.why_not else "grid--strong"),
            "kind": Cell(entry.kind, "grid--muted"),
            "detail": Cell(entry.why_not or entry.detail, "grid--muted"),
        }

    def action_move(self, step: int) -> None:
        grid = self.query_one(Grid)
        grid.action_move(step)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        current = self.query_one(Grid).current
        if current is not None and self.matches:
            self.dismiss(self.matches[int(current)])
