"""All failed connectors and tasks by root cause, and their restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.failures import FailedUnit, FailureGroup, failed_units, groups
from tui.formatting import counted, format_duration, one_line
from tui.screens.base.filtered_page import FilteredPage
from tui.screens.base.program import copy
from tui.screens.base.split_page import SplitPage
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.last_restarts import KnownRestarts, LastRestart
from tui.screens.tasks import task_text
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible
from tui.wire import audit

COLUMNS = (
    Column("cause", "CAUSE, CONNECTOR/TASK", 30, grows=True),
    Column("count", "FAILED", 6, right=True),
    Column("since", "SINCE", 8, rank=1, right=True),
    Column("worker", "WORKER", 16, rank=2, grows=True, shrinks=True),
    Column("restart", "LAST RESTART", 14, rank=3, grows=True),
)
GROUP, UNIT = "group ", "unit "  # the first part of the keys of rows
MAX_OPEN = 20  # failures up to which all groups are open at first
RestartFailed = Callable[[Sequence[FailedUnit]], str]
OpenTask = Callable[[str, int | None], None]


class FailuresScreen(SplitPage, FilteredPage):
    """Follows the snapshots of the cluster: failures that have ended disappear."""

    COLUMNS = COLUMNS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "restart", "restart", tooltip="restart this task, or all of this group"),
        Binding("A", "restart_all", "restart all", tooltip="restart all that are listed"),
        Binding("v", "visit", "open", tooltip="open the page of the connector's tasks"),
        Binding("space", "fold", "fold", tooltip="show or hide the tasks of this group"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("y", "copy", "copy trace"),
        Binding("tab,shift+tab", "switch", "list or text", show=False),
    ]
    CHANGES: ClassVar[tuple[str, ...]] = ("restart", "restart_all")

    def __init__(self, services: ClusterServices, restart: RestartFailed, open_task: OpenTask) -> None:
        super().__init__(services)
        self._restart, self._open_task = restart, open_task
        self.groups: list[FailureGroup] = []
        self._rows: dict[str, FailureGroup | FailedUnit] = {}
        self._folded: set[str] | None = None  # keys of groups; None before the first failures are known
        self._logged: dict[str, list[dict[str, object]]] = {}  # restarts in the audit log, by connector
        self._drawn: object = None
        self._shown = ""  # the row whose text is shown

    def on_mount(self) -> None:
        self.grid.empty = "nothing has failed"
        self.grid.focus()
        self.update_rows()
        self.set_interval(0.5, self.update_rows)

    # Display

    def update_rows(self) -> None:
        """Shows the failures of the newest snapshot."""
        operations = [(operation.id, len(operation.notes)) for operation in self.services.operations.log]
        now = (self.services.snapshot, operations, int(time.time() / 10))
        if now != self._drawn:
            self._drawn = now
            self.draw()

    def draw(self, follow: bool = False) -> None:
        text = self.filter_text.lower()
        units = [
            unit
            for unit in failed_units(self.services.snapshot.connectors.values())
            if not text or text in f"{unit.title} {unit.cause} {unit.worker}".lower()
        ]
        self.groups = groups(units)
        if self._folded is None and units:
            self._folded = {group.key for group in self.groups} if len(units) > MAX_OPEN else set()
        self._rows = {}
        for group in self.groups:
            self._rows[GROUP + group.key] = group
            if group.key not in (self._folded or ()):
                self._rows |= {UNIT + unit.title: unit for unit in group.units}
        self._read_audit_log({unit.connector for unit in units})
        widths = {
            "cause": max((len(self._text(row)) for row in self._rows.values()), default=0),
            "worker": max((len(unit.worker) for unit in units), default=0),
            "restart": 60,
        }
        self.grid.show(list(self._rows), self._cells, widths, follow=follow)
        names = len({unit.connector for unit in units})
        search = f"  /{visible(self.filter_text)}" if self.filter_text else ""
        end = f"{counted(len(units), 'failure')} of {counted(names, 'connector')}, {counted(len(self.groups), 'cause')}"
        self.head(("failures", "bold $accent"), search, end=end if units else "")
        self.show_current()
        self.refresh_bindings()

    def draw_filtered(self) -> None:
        self.draw(follow=True)

    def _read_audit_log(self, names: set[str]) -> None:
        if new := names - self._logged.keys():
            self._logged |= {name: [] for name in new}
            self.run_worker(self._read(new), exit_on_error=False)

    async def _read(self, names: set[str]) -> None:
        label = self.services.profile.label
        entries = await asyncio.to_thread(lambda: {name: audit.restarts(label, name) for name in names})
        self._logged |= entries
        if any(entries.values()):
            self._drawn = None

    def last_restart(self, unit: FailedUnit) -> LastRestart | None:
        known = KnownRestarts(self.services.operations.log, self._logged.get(unit.connector, ()))
        return known.last(unit.connector, unit.task)

    def _text(self, row: FailureGroup | FailedUnit) -> str:
        if isinstance(row, FailedUnit):
            return f"    {row.title}"
        return f"{'▸' if row.key in (self._folded or ()) else '▾'} ✗ {row.cause}"

    def _cells(self, key: str) -> Mapping[str, Cell]:
        row = self._rows.get(key)
        if row is None:
            return {}
        if isinstance(row, FailureGroup):
            workers = len({unit.worker for unit in row.units})
            where = row.units[0].worker if workers == 1 else counted(workers, "worker")
            return {
                "cause": Cell(self._text(row), "grid--error"),
                "count": Cell(str(len(row.units)), "grid--strong"),
                "since": Cell(self._since(row.units), "grid--muted"),
                "worker": Cell(where, "grid--muted"),
                "restart": Cell("", ""),
            }
        restart = self.last_restart(row)
        now = time.time()
        ago = f"{format_duration(now - restart.at)} ago: {one_line(restart.result)}" if restart is not None else ""
        return {
            "cause": Cell(self._text(row)),
            "since": Cell(self._since((row,)), "grid--muted"),
            "worker": Cell(row.worker, "grid--muted"),
            "restart": Cell(ago, "grid--muted"),
        }

    def _since(self, units: Sequence[FailedUnit]) -> str:
        """The time since the first of them has failed, as far as it is known."""
        since = self.services.snapshot.since
        times = [since[unit.connector] for unit in units if unit.connector in since]
        return format_duration(time.time() - min(times)) if times else ""

    @property
    def current(self) -> FailureGroup | FailedUnit | None:
        return self._rows.get(self.grid.current or "")

    @property
    def unit(self) -> FailedUnit | None:
        """The failure under the cursor, or the first one of the group."""
        row = self.current
        return row.units[0] if isinstance(row, FailureGroup) else row

    def show_current(self) -> None:
        row, unit, key = self.current, self.unit, self.grid.current or ""
        top, self._shown = key != self._shown, key
        if unit is None:
            self.pager.put(Content(""), top=top)
            return
        since = self.services.snapshot.since.get(unit.connector)
        text = task_text.of_unit(unit, self.last_restart(unit), since, time.time())
        if isinstance(row, FailureGroup):
            text = Content.assemble(_heading(row), text)
        self.pager.put(text, top=top)

    # Keys

    def allows(self, action: str) -> bool:
        if action == "fold":
            return isinstance(self.current, FailureGroup)
        return action not in ("restart", "visit", "copy") or self.unit is not None

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Enter opens and closes a group, and opens the page of a task."""
        event.stop()
        event.prevent_default()  # the handler of SplitPage moves to the text
        if isinstance(self.current, FailureGroup):
            self.action_fold()
        else:
            self.action_visit()

    def action_fold(self) -> None:
        if isinstance(row := self.current, FailureGroup):
            self._folded = (self._folded or set()) ^ {row.key}
            self.draw()

    def action_visit(self) -> None:
        if (unit := self.unit) is not None:
            self.dismiss(None)
            self._open_task(unit.connector, unit.task)

    def action_copy(self) -> None:
        if (unit := self.unit) is not None:
            self.report(copy(self, unit.trace, f"the trace of {unit.title}"))

    def action_restart(self) -> None:
        if (row := self.current) is not None:
            self._ask(row.units if isinstance(row, FailureGroup) else (row,))

    def action_restart_all(self) -> None:
        self._ask([unit for group in self.groups for unit in group.units])

    def _ask(self, units: Sequence[FailedUnit]) -> None:
        if why := self._restart(units):
            self.report(why, "warn")


def _heading(group: FailureGroup) -> Content:
    tasks, connectors = counted(len(group.units), "failure"), counted(group.connectors, "connector")
    return Content.assemble((f"{tasks} of {connectors} with this cause; the first:\n\n", "$text-muted"))
