"""The operations log: each operation with its steps and results, as a script line and as curl commands."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label

from tui.screens.base import program
from tui.screens.services.operations import GLYPHS, Operation, Operations, Phase
from tui.widgets.bars import KeyBar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager
from tui.widgets.text import visible

INKS = {
    Phase.OBSERVED: "grid--success",
    Phase.FAILED: "grid--error",
    Phase.TIMED_OUT: "grid--warning",
}
COLUMNS = (
    Column("time", "TIME", 8),
    Column("what", "OPERATION", 24, grows=True),
    Column("phase", "STEP", 11),
    Column("message", "LAST MESSAGE", 20, rank=1, grows=True),
)


class OperationsScreen(ModalScreen[None]):
    """Lists the operations, newest first, and shows the entry under the cursor in full below."""

    DEFAULT_CSS = """
    OperationsScreen { align: center middle; background: $background 60%; }
    OperationsScreen > Vertical { width: 96%; height: 92%; background: $panel; border: round $border; padding: 0 1; }
    OperationsScreen #title { text-style: bold; color: $accent; width: 1fr; height: auto; }
    OperationsScreen Grid { height: 1fr; max-height: 8; background: $panel; }
    OperationsScreen Pager { height: 1fr; background: $panel; border-top: solid $border; padding: 0; }
    OperationsScreen KeyBar { background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,o,ctrl+c", "close", "close", key_display="esc"),
        Binding("y", "copy_line", "copy script line"),
        Binding("c", "copy_curl", "copy curl"),
    ]

    def __init__(self, operations: Operations, url: str) -> None:
        super().__init__()
        self.operations, self.url = operations, url

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(id="title")
            yield Grid(COLUMNS)
            yield Pager()
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Grid).focus()
        self.draw()

    def draw(self) -> None:
        if not self.query(Grid):  # steps of operations may arrive before the screen is composed
            return
        grid = self.query_one(Grid)
        newest = self.operations.log[::-1]
        widest = max((len(one.title) for one in newest), default=0)
        grid.show([str(one.id) for one in newest], self.cells, {"what": widest, "message": 400})
        self.query_one("#title", Label).update(self._title())
        self.detail()

    def _title(self) -> Content:
        under_way = len(self.operations.open)
        failed = sum(one.phase.is_bad for one in self.operations.log)
        parts: list[str | tuple[str, str]] = ["operations of this session"]
        if under_way:
            parts.append((f"  {under_way:,} under way", "$text-muted"))
        if failed:
            parts.append((f"  {failed:,} failed", "$error"))
        return Content.assemble(*parts)

    def current(self) -> Operation | None:
        key = self.query_one(Grid).current
        return self.operations.log[int(key) - 1] if key else None

    def cells(self, key: str) -> Mapping[str, Cell]:
        one = self.operations.log[int(key) - 1]
        return {
            "time": Cell(_clock(one.started), "grid--muted"),
            "what": Cell(one.title, "grid--strong"),
            "phase": Cell(f"{GLYPHS[one.phase]} {one.phase.value}", INKS.get(one.phase, "")),
            "message": Cell(one.last, "grid--muted"),
        }

    def detail(self) -> None:
        one = self.current()
        if one is None:
            self.query_one(Pager).put(Content("no operations yet"))
            return
        self.refresh_bindings()
        parts: list[str | tuple[str, str]] = []
        for at, text in one.notes:
            parts += [(f"{_clock(at)}  ", "$text-muted"), f"{visible(text)}\n"]
        parts.append(("\nscript\n", "bold $accent"))
        parts += [f"{visible(line)}\n" for line in one.lines]
        if curl := one.curl(self.url):
            parts.append(("\ncurl\n", "bold $accent"))
            parts += [f"{visible(line)}\n" for line in curl]
        self.query_one(Pager).put(Content.assemble(*parts))

    def on_grid_moved(self, event: Grid.Moved) -> None:
        self.query_one("#title", Label).update(self._title())
        self.detail()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key works only if the entry has a line to copy."""
        if action not in ("copy_line", "copy_curl") or not self.query(Grid):
            return True
        one = self.current()
        return bool(one and (one.lines if action == "copy_line" else one.curl(self.url)))

    def action_close(self) -> None:
        self.dismiss(None)

    def action_copy_line(self) -> None:
        if one := self.current():
            self.copy("\n".join(one.lines))

    def action_copy_curl(self) -> None:
        if one := self.current():
            self.copy("\n".join(one.curl(self.url)))

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.query_one("#title", Label).update(Content(visible(program.of(self).copied)))


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
