"""The orders of the connector list, and the file that keeps the order of each cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui import private_file
from tui.cluster.snapshot import Snapshot
from tui.model import Connector
from tui.user_folders import state_folder

if TYPE_CHECKING:  # imported before the first paint, so that nothing larger is loaded
    from tui.metrics.progress import ConnectorProgress

MAX_CLUSTERS = 200  # in the file
Value = float | str | None  # None: unknown, sorted last in both directions


class ListFacts(NamedTuple):
    """Everything that the list can be sorted by, at the time `now` (seconds since the epoch)."""

    snapshot: Snapshot = Snapshot()
    progress: Mapping[str, ConnectorProgress] = {}
    rates: Callable[[str, float], float | None] = lambda name, now: None
    now: float = 0.0


NO_FACTS = ListFacts()


class SortOrder(NamedTuple):
    """One order: the key in its menu, the column whose heading selects it, and the value of a connector. `first` tells
    which connectors come first."""

    key: str
    column: str
    first: str
    value: Callable[[Connector, ListFacts], Value]


def _lag(connector: Connector, facts: ListFacts) -> Value:
    """Sinks by their lag, the largest first; then sources by the age of their positions, the oldest first."""
    known = facts.progress.get(connector.name)
    if known is None:
        return None
    if known.lag is not None:
        return -known.lag - 1.0
    return None if known.age_ms is None else 1 / (1 + known.age(facts.now))


def _throughput(connector: Connector, facts: ListFacts) -> Value:
    rate = facts.rates(connector.name, facts.now)
    return None if rate is None else -rate


def _since(connector: Connector, facts: ListFacts) -> Value:
    began = facts.snapshot.since.get(connector.name)
    return None if began is None else -began


def _failures(connector: Connector, facts: ListFacts) -> Value:
    """Failed tasks, then stalled tasks and failing records."""
    known = facts.progress.get(connector.name)
    failing = 0.0
    if known is not None:
        rate = known.failing.rate if known.failing.is_so(facts.now) else 0.0
        failing = len(known.stalled) + known.failing.everything + rate / (rate + 1)
    failures = 1000.0 * (connector.failed + (connector.state == "FAILED")) + failing
    return -failures if failures else None


STATE = "state"
ORDERS: Mapping[str, SortOrder] = {
    STATE: SortOrder("s", "state", "failures first, then by name", lambda connector, facts: None),
    "name": SortOrder("n", "name", "A to Z", lambda connector, facts: connector.name),
    "lag": SortOrder("l", "progress", "the largest first", _lag),
    "throughput": SortOrder("t", "rate", "the highest first", _throughput),
    "since": SortOrder("c", "since", "the latest change of state first", _since),
    "failures": SortOrder("f", "tasks", "the most failures first", _failures),
    "worker": SortOrder("w", "worker", "A to Z", lambda connector, facts: connector.worker),
    "type": SortOrder("y", "type", "sinks first", lambda connector, facts: connector.type),
}


class ListOrder(NamedTuple):
    """The chosen order of a list, and the orders of connectors that are equal by it."""

    by: str = STATE
    reverse: bool = False
    further: tuple[tuple[str, bool], ...] = ()  # by and reverse

    @property
    def text(self) -> str:
        """The words of the command: `lag`, `lag reverse`, or `worker -lag` for several."""
        if not self.further:
            return f"{self.by} reverse" if self.reverse else self.by
        return " ".join(f"-{by}" if reverse else by for by, reverse in self.levels)

    @property
    def levels(self) -> tuple[tuple[str, bool], ...]:
        """All orders, the first one first."""
        return ((self.by, self.reverse), *self.further)

    def then(self, by: str) -> ListOrder:
        """The order after `by` is chosen: the same order again is reversed."""
        return self._replace(reverse=not self.reverse) if by == self.by else ListOrder(by)


DEFAULT = ListOrder()


def of_words(text: str) -> ListOrder | None:
    """The order of `lag`, `lag reverse`, `-lag`, or of several: `worker -lag`; None if one is unknown."""
    words = text.lower().split()
    is_reverse = len(words) > 1 and words[-1] == "reverse"
    levels = [(word.removeprefix("-"), word.startswith("-")) for word in (words[:-1] if is_reverse else words)]
    if not levels or any(by not in ORDERS for by, _ in levels):
        return None
    (by, reverse), *further = levels
    return ListOrder(by, reverse or is_reverse, tuple(further))


def of_column(key: str) -> str:
    """The order that a column's heading selects; empty if there is none."""
    if key == "trend":
        key = "rate"
    return next((name for name, order in ORDERS.items() if order.column == key), "")


# The order of each cluster, by its label


def _file(environ: Mapping[str, str]) -> Path:

    return state_folder(environ) / "orders.json"


def _load(environ: Mapping[str, str]) -> dict[str, str]:
    import json

    with suppress(OSError, ValueError):
        content = json.loads(private_file.read(_file(environ)))
        if isinstance(content, dict):
            return {str(label): str(text) for label, text in content.items()}
    return {}


def load(label: str, environ: Mapping[str, str] = os.environ) -> ListOrder:
    """The stored order of a cluster; the default order if none is stored."""
    return of_words(_load(environ).get(label, "")) or DEFAULT


def store(label: str, order: ListOrder, environ: Mapping[str, str] = os.environ) -> None:
    """Stores the order of a cluster. An error in writing only means that the next session starts with the default."""
    import json

    from tui.errors import HeadraceError
    from tui.offsets import files

    known = _load(environ)
    known.pop(label, None)
    if order != DEFAULT:
        known[label] = order.text
    with suppress(HeadraceError):
        files.replace(_file(environ), json.dumps(dict(list(known.items())[-MAX_CLUSTERS:]), indent=1) + "\n")
