"""The connector list: its rows, their order and their cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui.cluster.snapshot import LinkState, Snapshot
from tui.formatting import short, span
from tui.model import Connector
from tui.screens.home.filtering import matcher
from tui.screens.home.rows import Rows
from tui.screens.services.operations import Operation
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

if TYPE_CHECKING:
    from tui.metrics.failure_rate import FailureRate
    from tui.metrics.progress import ConnectorProgress

# On narrow screens columns are left out in the order class, worker, type, time, progress; the name always remains.
COLUMNS = (
    Column("name", "NAME", 24, grows=True, middle=True),
    Column("type", "TYPE", 6, rank=3),
    Column("state", "STATE", 13),
    Column("tasks", "TASKS", 13),
    Column("progress", "PROGRESS", 11, rank=1, right=True),
    Column("since", "SINCE", 6, rank=2, right=True),
    Column("worker", "WORKER", 16, rank=4, grows=True),
    Column("class", "CLASS", 18, rank=5, grows=True),
)
MAX_CACHED = 500  # rows whose cells are cached
WITHOUT_PROGRESS = tuple(column for column in COLUMNS if column.key != "progress")


class ConnectorList(Grid):
    """Rows are connector names, failures first."""

    def __init__(self, pending: Callable[[str], Operation | None], clock: Callable[[], float], id: str) -> None:
        super().__init__(WITHOUT_PROGRESS, id=id)
        self.progress: Mapping[str, ConnectorProgress] = {}
        self.pending, self.clock = pending, clock
        self.snapshot = Snapshot()
        self.rows = Rows()
        self.filter_text = ""
        self._cached: dict[str, tuple[tuple[Connector, str, str, Cell], Mapping[str, Cell]]] = {}

    def update_rows(self, snapshot: Snapshot, filter_text: str, *, follow: bool = False) -> None:
        self.snapshot, self.filter_text = snapshot, filter_text
        self.rows.update(snapshot.connectors)
        names, wanted = self.rows.chosen(matcher(filter_text) if filter_text else None)
        self.empty = self._nothing(snapshot, filter_text)
        self.show(names, self.cells, wanted, follow=follow)

    def _nothing(self, snapshot: Snapshot, filter_text: str) -> str:
        if snapshot.connectors:
            return f"nothing matches /{visible(filter_text)}; esc shows all"
        known = snapshot.link.state in (LinkState.LIVE, LinkState.POLLING)
        return "no connectors yet; :apply -f FILE creates connectors" if known else ""

    def cells(self, name: str) -> Mapping[str, Cell]:
        one = self.snapshot.connectors.get(name)
        if one is None:
            return {"name": Cell(name, "grid--muted")}
        operation = self.pending(name)
        progress = _progress(self.progress.get(name), one, self.clock())
        known = (one, operation.doing if operation else "", self._since(name), progress)
        cached = self._cached.get(name)
        if cached is None or cached[0] != known:
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            self._cached[name] = cached = (known, self._cells_of(*known))
        return cached[1]

    def _cells_of(self, one: Connector, doing: str, since: str, progress: Cell) -> Mapping[str, Cell]:
        state = one.overall
        return {
            "name": Cell(one.name, "grid--strong"),
            "type": Cell(one.type, "grid--muted"),
            "state": Cell(f"↻ {doing}…", "state--restarting")
            if doing
            else Cell(states.word(state), states.style_class(state)),
            "tasks": Cell(one.tasks_text, "grid--error" if one.failed else "")
            if one.tasks
            else Cell("–", "grid--muted"),
            "progress": progress,
            "since": Cell(since, "grid--muted"),
            "worker": Cell(worker_of(one), "grid--muted"),
            "class": Cell(one.short_class, "grid--muted"),
        }

    def show_progress(self, known: Mapping[str, ConnectorProgress]) -> None:
        """Shows the progress column as soon as the progress of any connector is known."""
        self.progress = known
        if any(one.is_known for one in known.values()) and self.columns != COLUMNS:
            self.set_columns(COLUMNS)
        self.refresh_changed()

    def _since(self, name: str) -> str:
        began = self.snapshot.since.get(name)
        return span(self.clock() - began) if began is not None else ""

    def next_failure(self, step: int) -> str | None:
        """The next failed connector, wrapping around at the end of the list; None if no connector has failed."""
        failed = [name for name in self.keys if self.rows.state(name) == "FAILED"]
        if not failed:
            return None
        if self.cursor in failed:
            return failed[(failed.index(self.cursor) + step) % len(failed)]
        return failed[0 if step > 0 else -1]


def _progress(known: ConnectorProgress | None, one: Connector, now: float) -> Cell:
    if known is None or not known.is_known:
        return Cell("")
    if known.stalled and one.running:
        return Cell("STALLED", "grid--error")
    if known.failing.is_so(now) and one.running:
        return _fails(known.failing)
    if known.lag is not None:
        return Cell(f"{short(known.lag)} behind" if known.lag else "at the end", "" if known.lag else "grid--muted")
    return Cell(f"{span(known.age(now))} ago" if known.age_ms is not None else "", "grid--muted")


def _fails(failing: FailureRate) -> Cell:
    """A glyph, a word and a colour, as for states, within the width of the column."""
    if failing.everything:
        return Cell(f"{states.glyph('FAILED')} all fail", "grid--error")
    rate = short(round(failing.rate)) if failing.rate >= 1 else "<1"
    return Cell(f"! {rate}/s fail", "grid--warning")


def worker_of(one: Connector) -> str:
    """The workers that run the tasks, or the connector's own worker if there are no tasks."""
    workers = sorted({task.worker for task in one.tasks if task.worker}) or ([one.worker] if one.worker else [])
    return workers[0] + (f" +{len(workers) - 1}" if len(workers) > 1 else "") if workers else ""
