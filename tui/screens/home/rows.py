"""Sort key, state and text widths of each connector, computed again only for connectors that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

from rich.cells import cell_len

from tui.model import Connector


class Row(NamedTuple):
    """A connector with its sort key, its state and the widths of its texts."""

    one: Connector
    severity: tuple[int, str]
    overall: str
    widths: tuple[int, int, int]  # of name, worker, class


class Rows:
    """The rows of successive snapshots, in which unchanged connectors are the same objects."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._ranked: list[Row] = []
        self.counts: Counter[str] = Counter()

    def update(self, connectors: Mapping[str, Connector]) -> None:
        """Takes the connectors of the next snapshot."""
        before = self._rows
        self._rows = {
            name: known if (known := before.get(name)) is not None and known.one is one else _row(one)
            for name, one in connectors.items()
        }
        # The previous order is nearly sorted, so that sorting costs little.
        ranked = [self._rows[row.one.name] for row in self._ranked if row.one.name in self._rows]
        if len(ranked) < len(self._rows):
            ranked += [row for name, row in self._rows.items() if name not in before]
        ranked.sort(key=attrgetter("severity"))
        self._ranked = ranked
        self.counts = Counter([row.overall for row in ranked])

    def chosen(self, passes: Callable[[Connector], bool] | None) -> tuple[list[str], dict[str, int]]:
        """Names in list order, and the preferred widths of the growing columns."""
        rows = self._ranked if passes is None else [row for row in self._ranked if passes(row.one)]
        wanted = [max(column) for column in zip(*(row.widths for row in rows), strict=True)] if rows else [0, 0, 0]
        return [row.one.name for row in rows], dict(zip(("name", "worker", "class"), wanted, strict=True))

    def state(self, name: str) -> str:
        return self._rows[name].overall if name in self._rows else ""


def _row(one: Connector) -> Row:
    name = len(one.name) if one.name.isascii() else cell_len(one.name)
    return Row(one, one.severity, one.overall, (name, len(one.worker) + 3, len(one.short_class)))
