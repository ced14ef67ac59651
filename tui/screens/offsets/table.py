"""A table of partitions with offset, lag and time behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.formatting import one_line
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.lag import Lag, time_of
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("partition", "PARTITION", 24, grows=True),
    Column("offset", "OFFSET", 20, grows=True),
    Column("lag", "LAG", 10, rank=1, right=True),
    Column("time", "BEHIND", 9, rank=2, right=True),
)
NOTHING = Lag()


class OffsetTable(Grid):
    """A row for each partition, or a text if there are none."""

    def __init__(self, id: str) -> None:
        super().__init__(COLUMNS, id=id)

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

    @property
    def place(self) -> int:
        """The index of the row under the cursor."""
        return self.keys.index(self.cursor) if self.cursor in self.keys else 0
