"""The connector list: its rows, their order and their cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui.cluster.snapshot import LinkState, Snapshot
from tui.formatting import format_duration, short
from tui.model import Connector
from tui.screens.listing import ordering
from tui.screens.listing.filtering import matcher, note_about, uses_facts
from tui.screens.listing.ordering import DEFAULT, ListOrder
from tui.screens.listing.rows import Rows
from tui.screens.services.operations import Operation
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.plot import spark
from tui.widgets.text import visible

if TYPE_CHECKING:
    from tui.metrics.failure_rate import FailureRate
    from tui.metrics.progress import ConnectorProgress, ProgressMonitor

LAG_WIDTH = 12
# On narrow screens columns are left out in the order class, worker, trend, type, time, rate, lag; the name remains.
COLUMNS = (
    Column("name", "NAME", 24, grows=True, middle=True, shrinks=True),
    Column("type", "TYPE", 6, rank=4),
    Column("state", "STATE", 13),
    Column("tasks", "TASKS", 14, shrinks=True, narrow=8),
    Column("progress", "LAG", LAG_WIDTH, rank=1, right=True),
    Column("rate", "REC/S", 6, rank=2, right=True),
    Column("trend", "LAST 2 MIN", 12, rank=5, floor=110),
    Column("since", "SINCE", 6, rank=3, right=True),
    Column("worker", "WORKER", 16, rank=6, grows=True, shrinks=True),
    Column("class", "CLASS", 18, rank=7, grows=True, shrinks=True),
)
OF_PROGRESS = ("progress", "rate", "trend")
WITHOUT_PROGRESS = tuple(column for column in COLUMNS if column.key not in OF_PROGRESS)
TREND_CELLS, TREND_STEP = 12, 10.0  # and the seconds of a cell
MAX_CACHED = 500  # rows whose cells are cached
RESORT_INTERVAL = 2.0  # seconds between two changes of the order because of new progress
NO_CONNECTORS = """no connectors yet

c                   choose a plugin and create a connector
:apply -f FILE      create the connectors of a file or a folder
?                   all keys and commands"""
NO_RESPONSE = """no response yet; this list appears as soon as there is one

F5                  try again now
C                   choose another cluster
:config             show the URL and where it was set"""
Known = tuple[Connector, str, str, Cell, str, str, int]  # from which the cells of a row follow
ARROWS = {False: "↓", True: "↑"}


class ConnectorList(Grid):
    """Rows are connector names, failures first unless another order is chosen."""

    def __init__(self, pending: Callable[[str], Operation | None], clock: Callable[[], float], id: str) -> None:
        super().__init__(WITHOUT_PROGRESS, id=id)
        self.monitor: ProgressMonitor | None = None
        self.order = ordering.DEFAULT
        self.pending, self.clock = pending, clock
        self._widest: dict[str, int] = {}  # so that columns do not become narrower while they are shown
        self._trends: dict[str, tuple[tuple[float, int], str]] = {}
        self._sorted_at = 0.0
        self.snapshot = Snapshot()
        self.rows = Rows()
        self.filter_text = ""
        self._cached: dict[str, tuple[Known, Mapping[str, Cell]]] = {}

    def update_rows(self, snapshot: Snapshot, filter_text: str, *, follow: bool = False) -> None:
        self.snapshot, self.filter_text = snapshot, filter_text
        self.rows.update(snapshot.connectors)
        self._sorted_at = self.clock()
        facts = ordering.ListFacts(snapshot, self.progress, self.rate, self._sorted_at)
        names, wanted = self.rows.chosen(matcher(filter_text, facts) if filter_text else None, self.order, facts)
        for key in ("state", "tasks", "worker", "class"):
            wanted[key] = self._widest[key] = max(wanted[key], self._widest.get(key, 0))
        self.empty = self._nothing(snapshot, filter_text)
        self.show(names, self.cells, wanted, follow=follow)

    def sort(self, order: ListOrder) -> None:
        """Sorts the rows; the cursor stays on its connector."""
        self.order = order
        self.sorted_by = (ordering.ORDERS[order.by].column, ARROWS[order.reverse]) if order != DEFAULT else ("", "")
        self.update_rows(self.snapshot, self.filter_text)
        if self.current is not None:
            self.go(self.current)
        self.refresh()

    @property
    def progress(self) -> Mapping[str, ConnectorProgress]:
        return self.monitor.known if self.monitor is not None else {}

    def rate(self, name: str, now: float) -> float | None:
        """Records per second of a connector; None if unknown."""
        history = self.monitor.rate_histories.get(name) if self.monitor is not None else None
        return history.rate(now) if history is not None else None

    def _nothing(self, snapshot: Snapshot, filter_text: str) -> str:
        if snapshot.connectors:
            note = note_about(filter_text, snapshot.connectors.values()).text
            return f"{visible(note) or f'nothing matches /{visible(filter_text)}'}; esc shows all"
        texts = {LinkState.LIVE: NO_CONNECTORS, LinkState.POLLING: NO_CONNECTORS, LinkState.LOST: NO_RESPONSE}
        return texts.get(snapshot.link.state, "")

    def cells(self, name: str) -> Mapping[str, Cell]:
        connector = self.snapshot.connectors.get(name)
        if connector is None:
            return {"name": Cell(name, "grid--muted")}
        operation = self.pending(name)
        now = self.clock()
        progress = _progress(self.progress.get(name), connector, now)
        known = (
            connector, operation.doing if operation else "", self._since(name), progress, self._rate(connector, now),
            self._trend(name, now), self._tasks_width,
        )  # fmt: skip
        cached = self._cached.get(name)
        if cached is None or cached[0] != known:
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            self._cached[name] = cached = (known, self._cells_of(*known))
        return cached[1]

    def _cells_of(
        self, connector: Connector, doing: str, since: str, progress: Cell, rate: str, trend: str, width: int
    ) -> Mapping[str, Cell]:
        state = connector.overall
        return {
            "name": Cell(connector.name, "grid--strong"),
            "type": Cell(connector.type, "grid--muted"),
            "state": Cell(f"↻ {doing}…", "state--restarting")
            if doing
            else Cell(states.word(state), states.style_class(state)),
            "tasks": Cell(_tasks(connector, width), "grid--error" if connector.failed else "")
            if connector.tasks
            else Cell("–", "grid--muted"),
            "progress": progress,
            "rate": Cell(rate, "" if rate not in ("0", "") else "grid--muted"),
            "trend": Cell(trend, "grid--success"),
            "since": Cell(since, "grid--muted"),
            "worker": Cell(worker_of(connector), "grid--muted"),
            "class": Cell(connector.short_class, "grid--muted"),
        }

    def show_progress(self) -> None:
        """Shows new progress; its columns appear as soon as the progress of any connector is known."""
        histories = self.monitor.rate_histories if self.monitor is not None else {}
        if self.columns != COLUMNS and (histories or any(progress.is_known for progress in self.progress.values())):
            self.set_columns(COLUMNS)
        is_due = abs(self.clock() - self._sorted_at) >= RESORT_INTERVAL  # the clock may have been set back
        moves = any(by in ("lag", "throughput", "failures") for by, _ in self.order.levels)
        if is_due and (moves or uses_facts(self.filter_text)):
            self.update_rows(self.snapshot, self.filter_text)
        else:
            self.refresh_changed()

    def _rate(self, connector: Connector, now: float) -> str:
        rate = self.rate(connector.name, now) if connector.running else None
        return "" if rate is None else short(round(rate)) if rate >= 0.5 or rate == 0 else "<1"

    def _trend(self, name: str, now: float) -> str:
        """A sparkline of the rates, computed again only when a cell of it is complete or a point was added."""
        history = self.monitor.rate_histories.get(name) if self.monitor is not None else None
        if history is None or not self._shows_trend:
            return ""
        state, known = (now // TREND_STEP, len(history)), self._trends.get(name)
        if known is None or known[0] != state:
            rates = history.rates(TREND_CELLS, now, TREND_STEP)
            self._trends[name] = known = (state, spark(rates, TREND_CELLS) if any(rates) else "")
        return known[1]

    @property
    def _shows_trend(self) -> bool:
        return any(column.key == "trend" for column, _ in self._arranged)

    @property
    def _tasks_width(self) -> int:
        return next((width for column, width in self._arranged if column.key == "tasks"), 0)

    def _since(self, name: str) -> str:
        began = self.snapshot.since.get(name)
        return format_duration(self.clock() - began) if began is not None else ""

    def next_failure(self, step: int) -> str | None:
        """The next failed connector, wrapping around at the end of the list; None if no connector has failed."""
        failed = [name for name in self.keys if self.rows.state(name) == "FAILED"]
        if not failed:
            return None
        if self.cursor in failed:
            return failed[(failed.index(self.cursor) + step) % len(failed)]
        return failed[0 if step > 0 else -1]


def _progress(known: ConnectorProgress | None, connector: Connector, now: float) -> Cell:
    if known is None or not known.is_known:
        return Cell("")
    if known.stalled and connector.running:
        return Cell("STALLED", "grid--error")
    if known.failing.is_so(now) and connector.running:
        return _fails(known.failing)
    if known.lag is not None:
        return Cell(f"{short(known.lag)} behind" if known.lag else "at the end", "" if known.lag else "grid--muted")
    return Cell(f"{format_duration(known.age(now))} ago" if known.age_ms is not None else "", "grid--muted")


def _tasks(connector: Connector, width: int) -> str:
    """`1/3, 2 failed`, or `1/3 ✗2` in a narrow column."""
    if len(text := connector.tasks_text) <= width or not connector.failed:
        return text
    return f"{connector.running}/{connector.total} {states.glyph('FAILED')}{connector.failed}"


def _fails(failing: FailureRate) -> Cell:
    """A glyph, a word and a colour, as for states; without the glyph where the column is too narrow."""
    if failing.everything:
        return Cell(f"{states.glyph('FAILED')} all fail", "grid--error")
    rate = short(round(failing.rate)) if failing.rate >= 0.5 else "<1"
    text = f"! {rate}/s fail"
    return Cell(text if len(text) <= LAG_WIDTH else text.removeprefix("! "), "grid--warning")


def worker_of(connector: Connector) -> str:
    """The workers that run the tasks, or the connector's own worker if there are no tasks."""
    workers = sorted({task.worker for task in connector.tasks if task.worker}) or (
        [connector.worker] if connector.worker else []
    )
    return workers[0] + (f" +{len(workers) - 1}" if len(workers) > 1 else "") if workers else ""
