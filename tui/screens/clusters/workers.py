"""The workers of a cluster: state, load, connectors and tasks of each; cordon and drain; health of one worker."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.client.client import Connect
from tui.client.workers import ACTIVE, CONNECTOR, ClusterWorkers, reported
from tui.commands.cluster.workers import core_text, waiting_text
from tui.errors import HeadraceError, NotFound, Refused, error_line
from tui.formatting import counted
from tui.model import Connector
from tui.screens.base.list_screen import ListScreen, closing
from tui.screens.clusters.worker_inside import WorkerInside
from tui.screens.clusters.worker_rows import (
    COLUMNS,
    DERIVED_COLUMNS,
    NOWHERE,
    Unit,
    counted_states,
    in_glyphs,
    ranked,
    units_by_worker,
    worker_cells,
)
from tui.screens.clusters.worker_units import WorkerUnitsScreen
from tui.widgets.bars import Bar, KeyBar, StatusBar
from tui.widgets.grid import Grid
from tui.widgets.text import visible

HEALTH_INTERVAL, GROUP_INTERVAL = 10.0, 2.0  # seconds
NOT_REPORTED = "state, load and version of each worker: only Headrace workers report them, and can be cordoned"
Part = str | tuple[str, str]


class WorkersChoice(NamedTuple):
    """What the main screen should show: the connectors of a worker, or a connector."""

    worker: str = ""
    connector: str = ""


ChangeWorker = Callable[[str, str, ClusterWorkers], Awaitable[tuple[str, str]]]
"""Cordons, uncordons or drains (verb, worker id, the group as shown); returns a text and its kind for the status."""


class WorkersScreen(ListScreen[WorkersChoice | None]):
    """`change` carries out cordon, uncordon and drain; None if the context does not allow changes of workers."""

    DEFAULT_CSS = """
    WorkersScreen #health { height: auto; min-height: 1; max-height: 3; padding: 0 1; }
    WorkersScreen #group { height: auto; max-height: 3; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", priority=True, tooltip="its connectors and tasks"),
        Binding("c", "change('cordon')", "cordon", tooltip="the worker keeps its tasks, and receives no others"),
        Binding("u", "change('uncordon')", "uncordon", tooltip="the worker receives tasks again"),
        Binding("d", "change('drain')", "drain", tooltip="the worker's tasks move to other workers"),
        Binding("f", "filter", "filter list", tooltip="show the connectors of the worker in the list"),
        closing("escape,q,W,ctrl+c"),
        Binding("f5,ctrl+l", "ask", "refresh"),
    ]

    def __init__(self, label: str, connect: Connect, version: str, change: ChangeWorker) -> None:
        super().__init__()
        self.label, self.connect, self.version, self._change = label, connect, version, change
        self.connectors: Mapping[str, Connector] = {}
        self.units: dict[str, list[Unit]] = {}
        self.group: ClusterWorkers | None = None  # None until the cluster has reported its workers
        self.stale = False
        self._reports = True  # False once the cluster has responded that it does not report its workers
        self._asking = False

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Static(id="health", markup=False)
        yield Static(id="group", markup=False)
        yield Grid(DERIVED_COLUMNS, sortable=True)
        yield WorkerInside(self.connect)
        yield StatusBar()
        yield KeyBar()

    def on_mount(self) -> None:
        self.set_interval(HEALTH_INTERVAL, self.ask_health)
        self.set_interval(GROUP_INTERVAL, self.ask_group)
        self.action_ask()
        self.draw()

    # Data

    def set_connectors(self, connectors: Mapping[str, Connector], *, stale: bool) -> None:
        """Shows a new snapshot of the connectors."""
        changed = connectors is not self.connectors
        self.connectors, self.stale = connectors, stale
        if changed:
            self._count()
        if self.query(Grid):
            self.draw()

    def _count(self) -> None:
        self.units = units_by_worker(self.connectors.values(), self.group)

    def action_ask(self) -> None:
        self.query_one(WorkerInside).ask()
        self.ask_health()
        self.ask_group()

    def ask_group(self) -> None:
        if self._reports and not self._asking:
            self.run_worker(self._ask_group(), group="workers", exit_on_error=False)

    async def _ask_group(self) -> None:
        """Reads the group; a slow response delays the next request."""
        self._asking = True
        try:
            workers = reported(await self.connect.workers())
        except NotFound:
            self._reports = False
        except HeadraceError as error:
            self.query_one("#group", Static).update(Content.assemble((visible(error_line(error)), "$error")))
            return
        else:
            if self.group is None:
                self.grid.set_columns(COLUMNS)
            self.group = workers
            self._count()
        finally:
            self._asking = False
        self.draw()
        self.refresh_bindings()

    def ask_health(self) -> None:
        self.run_worker(self._ask_health(), group="health", exclusive=True, exit_on_error=False)

    async def _ask_health(self) -> None:
        """Reads the health of the worker behind the URL, which reports only its own (KIP-1017)."""
        words, style = "", "$text-muted"
        try:
            response = await self.connect.health() or {}
            words, style = f"{response.get('status', '?')}: {response.get('message', '')}", "$success"
        except NotFound:
            words = "this version does not report its health"
        except Refused as error:
            words, style = error.message, "$error"
        except HeadraceError as error:
            words, style = str(error), "$error"
        head = f"{visible(self.connect.url)} {visible(self.version)}".strip()
        self.query_one("#health", Static).update(
            Content.assemble((f"{head}  ", "$text-muted"), (visible(words), style))
        )

    # Display

    def draw(self) -> None:
        grid, group = self.grid, self.group
        grid.empty = "no connector reports its worker"
        grid.set_stale(self.stale)
        names = list(self.units)
        widest = {"worker": max(map(len, names), default=0)}
        for column, tasks in (("connectors", False), ("tasks", True)):
            texts = (in_glyphs(counted_states(units, tasks=tasks)).text for units in self.units.values())
            widest[column] = max(map(len, texts), default=0)
        grid.show(names, lambda name: worker_cells(name, group, self.units.get(name, ())), widest)
        workers = len(group.workers) if group is not None else len([name for name in names if name != NOWHERE])
        number = sum(unit.task != CONNECTOR for units in self.units.values() for unit in units)
        words = f"{counted(workers, 'worker')}, {counted(number, 'task')}"
        self.head(f"workers of {visible(self.label)}", words)
        self.query_one("#group", Static).update(Content.assemble(*self._about_group()))
        several = group is not None and len(group.workers) > 1
        self.query_one(WorkerInside).border_title = f"metrics of {visible(self.connect.url)}" if several else ""

    def _about_group(self) -> Sequence[Part]:
        group = self.group
        if group is None:
            return [] if self._reports else [(NOT_REPORTED, "$text-muted")]
        without_core = [(f"  {visible(text)}", "$warning")] if (text := core_text(group)) else []
        if group.is_standalone:
            return [("a standalone worker, which has no group", "$text-muted"), *without_core]
        parts: list[Part] = [(f"group {visible(group.group_id)}, generation {group.generation}", "$text-muted")]
        parts += without_core
        if group.rebalancing:
            parts.append(("  rebalancing", "bold $accent"))
        if not group.leader:
            parts.append(("  no leader", "bold $error"))
        if group.workers and all(worker.state != ACTIVE for worker in group.workers.values()):
            parts.append(("  no worker accepts connectors and tasks", "bold $error"))
        if text := waiting_text(group, time.time()):
            parts.append((f"  {text}", "$warning"))
        return parts

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "change":
            return self.group is not None and not self.group.is_standalone
        return True

    def action_change(self, verb: str) -> None:
        worker_id = self.grid.current
        if worker_id is not None and self.group is not None:
            self.run_worker(self._carry_out(verb, worker_id, self.group), group="change", exit_on_error=False)

    async def _carry_out(self, verb: str, worker_id: str, group: ClusterWorkers) -> None:
        self.report(*await self._change(verb, worker_id, group))
        self.ask_group()

    def opened(self, key: str) -> None:
        if key != NOWHERE:
            self.app.push_screen(WorkerUnitsScreen(key, lambda: self._units(key)), self._opened)

    def _units(self, worker_id: str) -> tuple[Sequence[Unit], bool]:
        return ranked(self.units.get(worker_id, ())), self.stale

    def _opened(self, connector: str | None) -> None:
        if connector is not None:
            self.dismiss(WorkersChoice(connector=connector))

    def action_filter(self) -> None:
        name = self.grid.current
        if name is not None and name != NOWHERE:
            self.dismiss(WorkersChoice(worker=name))
