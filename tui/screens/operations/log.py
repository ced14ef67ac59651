"""The operations log: each operation with its steps and results, as a script line and as curl commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label

from tui.formatting import short_time
from tui.screens.base import program
from tui.screens.base.pop_up import PopUp
from tui.screens.services.operations import GLYPHS, Operation, Operations, Phase
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager
from tui.widgets.text import visible

STYLES = {
    Phase.OBSERVED: "grid--success",
    Phase.FAILED: "grid--error",
    Phase.TIMED_OUT: "grid--warning",
}
COLUMNS = (
    Column("time", "TIME", 8, grows=True),
    Column("what", "OPERATION", 24, grows=True),
    Column("phase", "STEP", 11),
    Column("message", "LAST MESSAGE", 20, rank=1, grows=True),
)


class OperationsScreen(PopUp[None]):
    """Lists the operations, newest first, and shows the entry under the cursor in full below."""

    DEFAULT_CSS = """
    OperationsScreen #title { height: auto; }
    OperationsScreen Grid { max-height: 8; }
    OperationsScreen Pager { border-top: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,o,ctrl+c", "close", "close", key_display="esc"),
        Binding("y", "copy_line", "copy script line"),
        Binding("c", "copy_curl", "copy curl"),
    ]

    def __init__(self, operations: Operations, url: str) -> None:
        super().__init__()
        self.operations, self.url = operations, url

    def contents(self) -> ComposeResult:
        yield Label(id="title")
        yield Grid(COLUMNS)
        yield Pager()

    def on_mount(self) -> None:
        self.query_one(Grid).focus()
        self.draw()

    def draw(self) -> None:
        if not self.query(Grid):  # steps of operations may arrive before the screen is composed
            return
        grid = self.query_one(Grid)
        newest = self.operations.log[::-1]
        widest = max((len(operation.title) for operation in newest), default=0)
        clock = max((len(short_time(operation.started)) for operation in newest), default=0)
        widths = {"time": clock, "what": widest, "message": 400}
        grid.show([str(operation.id) for operation in newest], self.cells, widths)
        self.query_one("#title", Label).update(self._title())
        self.detail()

    def _title(self) -> Content:
        under_way = len(self.operations.open)
        failed = sum(operation.phase.is_bad for operation in self.operations.log)
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
        operation = self.operations.log[int(key) - 1]
        return {
            "time": Cell(short_time(operation.started), "grid--muted"),
            "what": Cell(operation.title, "grid--strong"),
            "phase": Cell(f"{GLYPHS[operation.phase]} {operation.phase.value}", STYLES.get(operation.phase, "")),
            "message": Cell(operation.last, "grid--muted"),
        }

    def detail(self) -> None:
        operation = self.current()
        if operation is None:
            self.query_one(Pager).put(Content("no operations yet"))
            return
        self.refresh_bindings()
        parts: list[str | tuple[str, str]] = []
        for at, text in operation.notes:
            parts += [(f"{short_time(at)}  ", "$text-muted"), f"{visible(text)}\n"]
        parts.append(("\nscript\n", "bold $accent"))
        parts += [f"{visible(line)}\n" for line in operation.lines]
        if curl := operation.curl(self.url):
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
        operation = self.current()
        return bool(operation and (operation.lines if action == "copy_line" else operation.curl(self.url)))

    def action_copy_line(self) -> None:
        if operation := self.current():
            self.copy("\n".join(operation.lines))

    def action_copy_curl(self) -> None:
        if operation := self.current():
            self.copy("\n".join(operation.curl(self.url)))

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.query_one("#title", Label).update(Content(visible(program.of(self).copied)))
