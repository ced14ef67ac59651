"""The connectors and tasks of one worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.formatting import counted
from tui.screens.base.list_screen import ListScreen, closing
from tui.screens.clusters.worker_rows import MOVING, UNIT_COLUMNS, Unit, unit_cells
from tui.widgets.bars import Bar, KeyBar, StatusBar
from tui.widgets.grid import Grid
from tui.widgets.text import visible

REDRAW_INTERVAL = 1.0  # seconds


class WorkerUnitsScreen(ListScreen[str | None]):
    """Returns the connector to open. `current` returns the units of the worker, and whether they are stale."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open connector", priority=True),
        closing("escape,q,ctrl+c"),
    ]

    def __init__(self, worker_id: str, current: Callable[[], tuple[Sequence[Unit], bool]]) -> None:
        super().__init__()
        self.worker_id, self._current = worker_id, current
        self._units: dict[str, Unit] = {}

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Grid(UNIT_COLUMNS, sortable=True)
        yield StatusBar()
        yield KeyBar()

    def on_mount(self) -> None:
        self.set_interval(REDRAW_INTERVAL, self.draw)
        self.draw()

    def draw(self) -> None:
        units, stale = self._current()
        self._units = {unit.key: unit for unit in units}
        grid = self.grid
        grid.empty = "no connectors and tasks"
        grid.set_stale(stale)
        widest = {
            "connector": max((len(unit.connector) for unit in units), default=0),
            "cause": max((len(unit.cause) for unit in units), default=0),
        }
        grid.show(list(self._units), lambda key: unit_cells(self._units[key]), widest)
        self.head(f"worker {visible(self.worker_id)}", self._counts(units))

    def _counts(self, units: Sequence[Unit]) -> str:
        tasks = sum(unit.task >= 0 for unit in units)
        moving = sum(unit.state == MOVING for unit in units)
        words = f"{counted(len(units) - tasks, 'connector')}, {counted(tasks, 'task')}"
        return f"{words}, {moving:,} moving" if moving else words

    def opened(self, key: str) -> None:
        self.dismiss(self._units[key].connector)
