"""The workers of a cluster: connectors and tasks of each by state, and the health of the worker that answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tui.client.client import Connect
from tui.cluster.cluster_overview import severity
from tui.errors import HeadraceError, NotFound, Refused
from tui.formatting import counted
from tui.model import Connector
from tui.screens.clusters.worker_inside import WorkerInside
from tui.widgets import states
from tui.widgets.bars import Bar, KeyBar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("worker", "WORKER", 22, grows=True),
    Column("worst", "WORST", 13),
    Column("connectors", "CONNECTORS", 16, grows=True),
    Column("tasks", "TASKS", 16, grows=True),
)
HEALTH_INTERVAL = 10.0  # seconds
NOWHERE = "(no worker)"


@dataclass(slots=True)
class WorkerLoad:
    """Numbers of connectors and tasks of one worker, by state."""

    connectors: Counter[str] = field(default_factory=Counter)
    tasks: Counter[str] = field(default_factory=Counter)

    @property
    def worst(self) -> str:
        return min(self.connectors + self.tasks, key=severity, default="")


def loads(connectors: Iterable[Connector]) -> dict[str, WorkerLoad]:
    """Loads by worker ID. A connector counts for the worker that runs it, a task for the worker that runs the task."""
    found: dict[str, WorkerLoad] = {}
    for one in connectors:
        found.setdefault(one.worker or NOWHERE, WorkerLoad()).connectors[one.state] += 1
        for task in one.tasks:
            found.setdefault(task.worker or NOWHERE, WorkerLoad()).tasks[task.state] += 1
    return dict(sorted(found.items()))


def in_glyphs(counts: Mapping[str, int]) -> str:
    """For example `✗ 2  ● 31`."""
    return "  ".join(f"{states.glyph(state)} {counts[state]:,}" for state in sorted(counts, key=severity))


class WorkersScreen(Screen[str | None]):
    """Answers with the worker whose connectors the list should show."""

    DEFAULT_CSS = """
    WorkersScreen { background: $background; color: $foreground; }
    WorkersScreen #title { background: $surface; padding: 0 1; }
    WorkersScreen #health { height: auto; min-height: 1; max-height: 3; padding: 0 1; }
    WorkersScreen Grid { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "show connectors", priority=True),
        Binding("escape,q,W,ctrl+c", "close", "close", key_display="esc"),
        Binding("f5,ctrl+l", "ask", "refresh"),
    ]

    def __init__(self, label: str, connect: Connect, version: str) -> None:
        super().__init__()
        self.label, self.connect, self.version = label, connect, version
        self.loads: dict[str, WorkerLoad] = {}

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Static(id="health", markup=False)
        yield Grid(COLUMNS)
        yield WorkerInside(self.connect)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Grid).focus()
        self.set_interval(HEALTH_INTERVAL, self.action_ask)
        self.action_ask()
        self.tell(self.loads, stale=False)

    def tell(self, found: dict[str, WorkerLoad], *, stale: bool) -> None:
        self.loads = found
        if not self.query(Grid):
            return
        grid = self.query_one(Grid)
        grid.empty = "no connector reports its worker"
        grid.set_stale(stale)
        widest = {
            "worker": max((len(name) for name in found), default=0),
            "connectors": max((len(in_glyphs(load.connectors)) for load in found.values()), default=0),
            "tasks": max((len(in_glyphs(load.tasks)) for load in found.values()), default=0),
        }
        grid.show(list(found), self.cells, widest)
        tasks = sum(load.tasks.total() for load in found.values())
        count = len([name for name in found if name != NOWHERE])
        words = f"{counted(count, 'active worker')}, {counted(tasks, 'task')}"
        head = Content.assemble(("headrace", "bold $accent"), f"  workers of {visible(self.label)}")
        self.query_one("#title", Bar).put(head, Content.assemble((words, "$text-muted")))

    def cells(self, name: str) -> Mapping[str, Cell]:
        load = self.loads[name]
        return {
            "worker": Cell(name, "grid--strong"),
            "worst": Cell(states.word(load.worst), states.style_class(load.worst)),
            "connectors": Cell(in_glyphs(load.connectors) or "–"),
            "tasks": Cell(in_glyphs(load.tasks) or "–"),
        }

    def action_ask(self) -> None:
        self.query_one(WorkerInside).ask()
        self.run_worker(self._ask(), group="health", exclusive=True, exit_on_error=False)

    async def _ask(self) -> None:
        """Reads the health of the worker behind the URL, which reports only its own (KIP-1017)."""
        words, ink = "", "$text-muted"
        try:
            answer = await self.connect.health() or {}
            words, ink = f"{answer.get('status', '?')}: {answer.get('message', '')}", "$success"
        except NotFound:
            words = "this version does not report its health"
        except Refused as error:
            words, ink = error.message, "$error"
        except HeadraceError as error:
            words, ink = str(error), "$error"
        head = f"{visible(self.connect.url)} {visible(self.version)}".strip()
        self.query_one("#health", Static).update(Content.assemble((f"{head}  ", "$text-muted"), (visible(words), ink)))

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.dismiss(event.key if event.key != NOWHERE else None)

    def action_open(self) -> None:
        self.query_one(Grid).action_open()

    def action_close(self) -> None:
        self.dismiss(None)
