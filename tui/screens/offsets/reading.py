"""The view of offsets: progress, warnings, and a row for each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from tui.formatting import one_line
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.lag import Lag, OffsetWarnings, time_of
from tui.screens.base.pane import Note
from tui.screens.offsets import wording
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("partition", "PARTITION", 24, grows=True, middle=True),
    Column("offset", "OFFSET", 20, grows=True, middle=True),
    Column("lag", "LAG", 10, rank=1, right=True),
    Column("time", "BEHIND", 9, rank=2, right=True),
)
NOTHING = Lag()


class OffsetTable(Grid):
    """A row for each partition, or a text if there are none."""

    def __init__(self, id: str) -> None:
        super().__init__(COLUMNS, id=id, sortable=True)

    def put(self, offsets: Sequence[Offset], lags: Mapping[str, Lag], instead: str) -> None:
        rows = {partitions.key(entry.partition): entry for entry in offsets}

        def cells(key: str) -> Mapping[str, Cell]:
            entry = rows[key]
            lag = lags.get(key, NOTHING)
            return {
                "partition": Cell(partitions.shown(entry.partition)),
                "offset": Cell(partitions.offset_cell(entry.offset), "grid--strong"),
                "lag": Cell("" if lag.records is None else f"{lag.records:,}", "grid--warning" if lag.records else ""),
                "time": Cell(time_of(lag), "grid--muted"),
            }

        texts = [partitions.shown(entry.partition) for entry in rows.values()]
        shown = [partitions.offset_cell(entry.offset) for entry in rows.values()]
        wanted = {"partition": max(map(len, texts), default=0), "offset": max(map(len, shown), default=0)}
        self.empty = one_line(visible(instead))
        self.show(list(rows), cells, wanted)

    def cut_text(self, entry: Offset) -> str:
        """The partition and the offset in full if a column cuts them, otherwise empty."""
        texts = {"partition": partitions.shown(entry.partition), "offset": partitions.offset_cell(entry.offset)}
        is_cut = any(cell_len(texts[column.key]) > width for column, width in self._arranged if column.key in texts)
        return "  ".join(texts.values()) if is_cut else ""

    @property
    def place(self) -> int:
        """The index of the partition under the cursor, whatever the order of the rows."""
        return self._given.index(self.cursor) if self.cursor in self._given else 0


class OffsetReading(Container):
    """Shows offsets that are passed to `put`; sends no requests."""

    DEFAULT_CSS = """
    OffsetReading { height: 1fr; layout: vertical; }
    OffsetReading #progress { display: none; height: auto; max-height: 3; padding: 0 1; }
    OffsetReading #age { display: none; height: auto; max-height: 3; padding: 0 1; color: $warning; }
    OffsetReading #progress.-shown, OffsetReading #age.-shown { display: block; }
    OffsetReading #partitions { height: 1fr; }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.offsets: Sequence[Offset] = ()

    def compose(self) -> ComposeResult:
        yield Static(id="age", markup=False)
        yield Static(id="progress", markup=False)
        yield OffsetTable("partitions")
        yield Note("full")

    @property
    def table(self) -> OffsetTable:
        return self.query_one(OffsetTable)

    @property
    def current(self) -> Offset | None:
        """The partition under the cursor."""
        key = self.table.current
        return next((entry for entry in self.offsets if partitions.key(entry.partition) == key), None)

    def put(self, offsets: Sequence[Offset], lags: Mapping[str, Lag], remarks: OffsetWarnings, instead: str) -> None:
        """`instead` is shown if there are no offsets."""
        self.offsets = offsets
        self.table.put(offsets, lags, instead)
        text = wording.progress(lags, remarks) if offsets else Content("")
        line = self.query_one("#progress", Static)
        line.set_class(bool(text.plain), "-shown")
        line.update(text)
        self._show_full()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self._show_full()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_full)

    def _show_full(self) -> None:
        """Shows what the table cuts of the row under the cursor."""
        self.query_one(Note).report("" if (entry := self.current) is None else self.table.cut_text(entry))

    def show_age(self, text: str) -> None:
        """The age of the offsets on screen; empty while they are fresh."""
        line = self.query_one("#age", Static)
        line.set_class(bool(text), "-shown")
        line.update(Content(visible(text)))
