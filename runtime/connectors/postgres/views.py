"""Which transactions a snapshot has seen, so that their changes are not read a second time from the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.api.errors import ConnectError

_CYCLE = 1 << 32  # transaction numbers in the log have 32 bits


@dataclass(frozen=True, slots=True)
class View:
    """What one transaction of the snapshot sees: `xids` is PostgreSQL's text xmin:xmax:xip, with 64-bit numbers.
    `until` is a position of the log behind the commits of all transactions that it sees."""

    xids: str
    until: int
    tables: frozenset[str] = frozenset()
    """The tables that were read completely, as `schema.name`."""
    _parts: tuple[int, int, frozenset[int]] = field(default=(0, 0, frozenset()), init=False, repr=False)

    def __post_init__(self) -> None:
        lowest, highest, running = self.xids.split(":")
        numbers = frozenset(int(text) for text in running.split(",") if text)
        object.__setattr__(self, "_parts", (int(lowest), int(highest), numbers))

    def sees(self, xid: int) -> bool:
        """Whether the snapshot contains the changes of a committed transaction with this 32-bit number."""
        lowest, highest, running = self._parts
        full = highest - highest % _CYCLE + xid
        if full - highest > _CYCLE // 2:
            full -= _CYCLE
        elif highest - full > _CYCLE // 2:
            full += _CYCLE
        return full < lowest or (full < highest and full not in running)

    def json(self) -> dict[str, Any]:
        """As a value of JSON."""
        return {"xids": self.xids, "until": self.until, "tables": sorted(self.tables)}


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """What a snapshot has read. After a restart in its middle, the remaining tables are read in another view."""

    views: tuple[View, ...]
    is_complete: bool
    text: str = field(default="", init=False)
    """As JSON, for an offset."""

    def __post_init__(self) -> None:
        document = {"views": [view.json() for view in self.views], "completed": self.is_complete}
        object.__setattr__(self, "text", json.dumps(document, separators=(",", ":")))

    @classmethod
    def parse(cls, text: Any) -> SnapshotProgress:
        """The inverse of `text`; ConnectError for anything else."""
        try:
            document = json.loads(text)
            views = (View(view["xids"], int(view["until"]), frozenset(view["tables"])) for view in document["views"])
            return cls(tuple(views), bool(document["completed"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectError(f"The offset's 'snapshot' is not valid: {error}") from None

    @property
    def until(self) -> int:
        """The position of the log from which no change is skipped."""
        return max((view.until for view in self.views), default=0)

    @property
    def tables(self) -> frozenset[str]:
        """The tables that were read completely."""
        return frozenset().union(*(view.tables for view in self.views))

    def has_read(self, table: str, xid: int) -> bool:
        """Whether the snapshot of a table contains the changes of a transaction."""
        return any(table in view.tables and view.sees(xid) for view in self.views)

    def with_view(self, view: View) -> SnapshotProgress:
        """With another view behind the others."""
        return SnapshotProgress((*self.views, view), self.is_complete)

    def with_tables(self, tables: Sequence[str]) -> SnapshotProgress:
        """With tables that were read in the last view."""
        *others, last = self.views
        return SnapshotProgress((*others, View(last.xids, last.until, last.tables | set(tables))), self.is_complete)

    def completed(self) -> SnapshotProgress:
        """With nothing left to read."""
        return SnapshotProgress(self.views, True)
