"""The connectors and tasks of one worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen

from tui.formatting import counted
from tui.screens.clusters.worker_rows import MOVING, UNIT_COLUMNS, Unit, unit_cells
from tui.widgets.bars import Bar, KeyBar
from tui.widgets.grid import Grid
from tui.widgets.text import visible

REDRAW_INTERVAL = 1.0  # seconds


class WorkerUnitsScreen(Screen[str | None]):
    """Answers with the connector to open. `current` returns the units of the worker, and whether they are stale."""

    DEFAULT_CSS = """
    WorkerUnitsScreen { background: $background; color: $foreground; }
    WorkerUnitsScreen #title { background: $surface; padding: 0 1; }
    WorkerUnitsScreen Grid { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open connector", priority=True),
        Binding("escape,q,ctrl+c", "close", "close", key_display="esc"),
    ]

    def __init__(self, worker_id: str, current: Callable[[], tuple[Sequence[Unit], bool]]) -> None:
        super().__init__()
        self.worker_id, self._current = worker_id, current
        self._units: dict[str, Unit] = {}

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Grid(UNIT_COLUMNS)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Grid).focus()
        self.set_interval(REDRAW_INTERVAL, self.draw)
        self.draw()

    def draw(self) -> None:
        found, stale = self._current()
        self._units = {unit.key: unit for unit in found}
        grid = self.query_one(Grid)
        grid.empty = "no connectors and tasks"
        grid.set_stale(stale)
        widest = {
            "connector": max((len(unit.connector) for unit in found), default=0),
            "cause": max((len(unit.cause) for unit in found), default=0),
        }
        grid.show(list(self._units), lambda key: unit_cells(self._units[key]), widest)
        self.query_one("#title", Bar).put(
            Content.assemble(("headrace", "bold $accent"), f"  worker {visible(self.worker_id)}"),
            Content.assemble((self._counts(found), "$text-muted")),
        )

    def _counts(self, found: Sequence[Unit]) -> str:
        tasks = sum(unit.task >= 0 for unit in found)
        moving = sum(unit.state == MOVING for unit in found)
        words = f"{counted(len(found) - tasks, 'connector')}, {counted(tasks, 'task')}"
        return f"{words}, {moving:,} moving" if moving else words

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.dismiss(self._units[event.key].connector)

    def action_open(self) -> None:
        self.query_one(Grid).action_open()

    def action_close(self) -> None:
        self.dismiss(None)
