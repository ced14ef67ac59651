"""The contents of a screen as text, for the clipboard and for files: a table, its current row, a long text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from textual.screen import Screen
from textual.widget import Widget

from tui import private_file, screenshot
from tui.commands.result import Table
from tui.formatting import counted
from tui.screens.base import program
from tui.script.output import tsv
from tui.widgets.grid import Grid
from tui.widgets.pager import Pager

_Shown = TypeVar("_Shown", bound=Widget)
TABLE, JSON, JSON_LINES, TEXT, ROW, SCREEN = "table", "json", "jsonl", "text", "row", "screen"
SUFFIXES = {".tsv": TABLE, ".json": JSON, ".jsonl": JSON_LINES, ".txt": TEXT}


class ShownPart(NamedTuple):
    """A part of a screen: `subject` describes it, `text` returns it; `suffix` is that of its files, empty if it is too
    small for one."""

    subject: str
    text: Callable[[], str]
    suffix: str = ""


class ShownContents:
    """The table and the text of a screen: those with the focus, or else the first that are visible."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.screen = screen
        self.grid, self.pager = _first(screen, Grid), _first(screen, Pager)

    @property
    def name(self) -> str:
        """For names of files: the id of the list, or the name of the screen's class."""
        if self.grid is not None and self.grid.id not in (None, "list", "rows"):
            return str(self.grid.id)
        return type(self.screen).__name__.removesuffix("Screen").lower()

    def parts(self) -> dict[str, ShownPart]:
        """The parts by name: TABLE, JSON, JSON_LINES and ROW if there is a table, TEXT if there is a text, SCREEN."""
        parts = {}
        if (grid := self.grid) is not None and grid.keys:
            rows = counted(len(grid.keys), "row")
            parts[TABLE] = ShownPart(f"the table, {rows}, as TSV", lambda: tsv(grid.table()), ".tsv")
            parts[JSON] = ShownPart(
                f"the table, {rows}, as JSON",
                lambda: json.dumps(_objects(grid.table()), indent=2, ensure_ascii=False) + "\n",
                ".json",
            )
            parts[JSON_LINES] = ShownPart(
                f"the table, {rows}, as lines of JSON", lambda: _lines(grid.table()), ".jsonl"
            )
            if grid.current is not None:
                parts[ROW] = ShownPart("the row", lambda: tsv(grid.table([grid.current or ""])).split("\n")[1])
        if (pager := self.pager) is not None and pager.content.plain.strip():
            lines = counted(pager.content.plain.rstrip().count("\n") + 1, "line")
            parts[TEXT] = ShownPart(f"the text, {lines}", lambda: pager.content.plain.rstrip() + "\n", ".txt")
        return parts | {SCREEN: ShownPart("the screen as it is", lambda: screenshot.text_of(self.screen), ".txt")}

    def take(self, part: ShownPart, file: str | None = None) -> None:
        """Copies a part, or writes it to a file; an empty name stands for a new file in the current folder. The screen
        shows the result."""
        report: Callable[[str, str], None] = getattr(self.screen, "report", program.of(self.screen).report)
        if file is None:
            report(program.copy(self.screen, part.text(), part.subject), "info")
            return
        at = time.strftime("%Y%m%d-%H%M%S")
        path = Path(file).expanduser() if file else Path.cwd() / f"{self.name}-{at}{part.suffix}"
        try:
            private_file.write(path, part.text())
        except OSError as error:
            report(f"cannot write {path}: {error.strerror}", "bad")
        else:
            report(f"{part.subject}: written to {path}", "good")

    def cells(self) -> list[tuple[str, str]]:
        """The cells of the row under the cursor that are not empty, with the headings of their columns."""
        if self.grid is None or self.grid.current is None:
            return []
        table = self.grid.table([self.grid.current])
        row = zip(table.columns, table.rows[0], strict=True)
        return [(title, str(text)) for title, text in row if text]


def _first(screen: Screen[Any], kind: type[_Shown]) -> _Shown | None:
    if isinstance(screen.focused, kind):
        return screen.focused
    return next(_visible(screen, kind), None)


def _visible(screen: Screen[Any], kind: type[_Shown]) -> Iterator[_Shown]:
    for widget in screen.query(kind):
        ancestors = (node for node in widget.ancestors_with_self if isinstance(node, Widget))
        if all(node.display for node in ancestors) and widget.size.height:
            yield widget


def _objects(table: Table) -> list[dict[str, object]]:
    """The rows by the headings of their columns in small letters."""
    return [{title.lower(): cell for title, cell in zip(table.columns, row, strict=True)} for row in table.rows]


def _lines(table: Table) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _objects(table))
