"""Sort keys, state and text widths of each connector; a snapshot costs what has changed in it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Mapping
from operator import attrgetter, itemgetter
from typing import NamedTuple

from rich.cells import cell_len

from tui.cluster.snapshot import changed_names
from tui.model import Connector
from tui.screens.listing.ordering import DEFAULT, NO_FACTS, ORDERS, STATE, ListFacts, ListOrder


class Row(NamedTuple):
    """A connector with its sort key, its state and the widths of its texts."""

    connector: Connector
    severity: tuple[int, str]
    overall: str
    widths: tuple[int, int, int, int, int]  # of the columns WIDTHS


FEW = 400  # rows to remove and insert, up to which this is done one by one instead of by sorting all
WIDTHS = ("name", "state", "tasks", "worker", "class")


class Rows:
    """The rows of successive snapshots, in which unchanged connectors are the same objects."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.resting_sinks: dict[str, None] = {}  # sinks without a running task, of whose lag no event tells
        self._connectors: Mapping[str, Connector] = {}
        self._rows: dict[str, Row] = {}
        self._ranked: list[Row] = []
        self._names: list[str] = []  # of the ranked rows
        self._widths: tuple[Counter[int], ...] = tuple(Counter() for _ in WIDTHS)  # how many rows have each width

    def update(self, connectors: Mapping[str, Connector]) -> None:
        """Takes the connectors of the next snapshot."""
        changed = changed_names(self._connectors, connectors)
        added = sum(name not in self._rows for name in changed)
        gone = self._rows.keys() - connectors.keys() if len(self._rows) + added > len(connectors) else ()
        self._connectors = connectors
        before = [self._rows[name] for name in (*gone, *changed) if name in self._rows]
        now = [_row(connectors[name]) for name in changed]
        if len(before) + len(now) > FEW:
            self._merge({row.connector.name for row in before}, now)
        else:
            for row in before:
                place = self._place(row)
                del self._ranked[place], self._names[place]
            for row in now:
                place = self._place(row)
                self._ranked.insert(place, row)
                self._names.insert(place, row.connector.name)
        for row in before:
            self._count_out(row)
        for row in now:
            self._count_in(row)

    def _place(self, row: Row) -> int:
        return bisect_left(self._ranked, row.severity, key=attrgetter("severity"))

    def _merge(self, before: Container[str], now: list[Row]) -> None:
        self._ranked = [row for row in self._ranked if row.connector.name not in before] + now
        self._ranked.sort(key=attrgetter("severity"))
        self._names = [row.connector.name for row in self._ranked]

    def _count_in(self, row: Row) -> None:
        self._rows[row.connector.name] = row
        self.counts[row.overall] += 1
        if row.connector.type == "sink" and not row.connector.running:
            self.resting_sinks[row.connector.name] = None
        for counter, width in zip(self._widths, row.widths, strict=True):
            counter[width] += 1

    def _count_out(self, row: Row) -> None:
        del self._rows[row.connector.name]
        self.resting_sinks.pop(row.connector.name, None)
        self.counts[row.overall] -= 1
        for counter, width in zip(self._widths, row.widths, strict=True):
            counter[width] -= 1
            if not counter[width]:
                del counter[width]

    def chosen(
        self, passes: Callable[[Connector], bool] | None, order: ListOrder = DEFAULT, facts: ListFacts = NO_FACTS
    ) -> tuple[list[str], dict[str, int]]:
        """Names in list order, and the widths of the texts in the columns WIDTHS."""
        rows, names, wanted = self._ranked, self._names, [max(counter, default=0) for counter in self._widths]
        if passes is not None:
            rows = [row for row in rows if passes(row.connector)]
            names = [row.connector.name for row in rows]
            wanted = [max(column) for column in zip(*(row.widths for row in rows), strict=True)] if rows else [0] * 5
        if order.by == STATE and not order.further:
            in_order = names[::-1] if order.reverse else names[:]
        else:
            in_order = _in_order(rows, order, facts)
        return in_order, dict(zip(WIDTHS, wanted, strict=True))

    def state(self, name: str) -> str:
        return self._rows[name].overall if name in self._rows else ""


def _in_order(rows: list[Row], order: ListOrder, facts: ListFacts) -> list[str]:
    """Names in the chosen order; equal values, and unknown values at the end, stay in the order of severity."""
    ranked = [row.connector for row in rows]
    for by, reverse in reversed(order.levels):
        ranked = _sorted(ranked, by, reverse, facts)
    return [connector.name for connector in ranked]


def _sorted(connectors: list[Connector], by: str, reverse: bool, facts: ListFacts) -> list[Connector]:
    """Connectors by one order; equal ones keep their order."""
    if by == STATE:
        return sorted(connectors, key=lambda connector: connector.severity[0], reverse=reverse)
    value_of = ORDERS[by].value
    values = [(value_of(connector, facts), connector) for connector in connectors]
    known = [(value, connector) for value, connector in values if value is not None]
    known.sort(key=itemgetter(0), reverse=reverse)
    return [connector for _, connector in known] + [connector for value, connector in values if value is None]


def _row(connector: Connector) -> Row:
    name = len(connector.name) if connector.name.isascii() else cell_len(connector.name)
    state, tasks = connector.overall, len(connector.tasks_text) if connector.tasks else 1
    return Row(
        connector,
        connector.severity,
        state,
        (name, len(state) + 2, tasks, len(connector.worker) + 3, len(connector.short_class)),
    )
