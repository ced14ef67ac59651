"""Sort keys, state and text widths of each connector, computed again only for connectors that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import NamedTuple

from rich.cells import cell_len

from tui.model import Connector
from tui.screens.listing.ordering import DEFAULT, NO_FACTS, ORDERS, STATE, ListFacts, ListOrder


class Row(NamedTuple):
    """A connector with its sort key, its state and the widths of its texts."""

    connector: Connector
    severity: tuple[int, str]
    overall: str
    widths: tuple[int, int, int, int, int]  # of the columns WIDTHS


WIDTHS = ("name", "state", "tasks", "worker", "class")


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
            name: known if (known := before.get(name)) is not None and known.connector is connector else _row(connector)
            for name, connector in connectors.items()
        }
        # The previous order is nearly sorted, so that sorting costs little.
        ranked = [self._rows[row.connector.name] for row in self._ranked if row.connector.name in self._rows]
        if len(ranked) < len(self._rows):
            ranked += [row for name, row in self._rows.items() if name not in before]
        ranked.sort(key=attrgetter("severity"))
        self._ranked = ranked
        self.counts = Counter([row.overall for row in ranked])

    def chosen(
        self, passes: Callable[[Connector], bool] | None, order: ListOrder = DEFAULT, facts: ListFacts = NO_FACTS
    ) -> tuple[list[str], dict[str, int]]:
        """Names in list order, and the widths of the texts in the columns WIDTHS."""
        rows = self._ranked if passes is None else [row for row in self._ranked if passes(row.connector)]
        wanted = [max(column) for column in zip(*(row.widths for row in rows), strict=True)] if rows else [0] * 5
        return _in_order([row.connector for row in rows], order, facts), dict(zip(WIDTHS, wanted, strict=True))

    def state(self, name: str) -> str:
        return self._rows[name].overall if name in self._rows else ""


def _in_order(ranked: list[Connector], order: ListOrder, facts: ListFacts) -> list[str]:
    """Names in the chosen order; equal values, and unknown values at the end, stay in the order of severity."""
    if order.by == STATE and not order.further:
        return [connector.name for connector in (reversed(ranked) if order.reverse else ranked)]
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
