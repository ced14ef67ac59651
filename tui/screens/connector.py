"""One connector's page: overview, tasks, config, trace, offsets; beside the list or instead of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tui.model import Connector, Task
from tui.screens import traces
from tui.screens.offsets import OffsetsPane
from tui.screens.pages import PAGES
from tui.widgets import states
from tui.widgets.bars import Bar, Tabs
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.jsontext import coloured
from tui.widgets.pager import Pager
from tui.widgets.text import counted, visible

TASK_COLUMNS = (
    Column("id", "TASK", 4, right=True),
    Column("state", "STATE", 12),
    Column("worker", "WORKER", 16, grows=True),
    Column("version", "VERSION", 8, rank=2),
    Column("trace", "TRACE", 10, rank=1, grows=True),
)
SECRET = ("password", "secret", "token", "credential", "sasl.jaas", "private.key", "apikey", "api.key")


class ConnectorView(Vertical):
    """Shows what the store knows of one name; asks for the rest by messages."""

    DEFAULT_CSS = """
    ConnectorView { background: $background; }
    ConnectorView > Bar { padding: 0 1; }
    ConnectorView > Tabs { margin: 0 0 1 0; }
    ConnectorView ContentSwitcher { height: 1fr; }
    """

    class Turned(Message):
        """Another page is shown."""

        def __init__(self, page: str) -> None:
            super().__init__()
            self.page = page

    def __init__(self, notices: Mapping[str, Sequence[str]], id: str | None = None) -> None:
        super().__init__(id=id)
        self.notices = notices  # what the worker said of each connector, the newest last
        self.name_shown: str | None = None
        self.connector: Connector | None = None
        self.stale = False

    def compose(self) -> ComposeResult:
        yield Bar(id="head")
        yield Tabs(PAGES)
        with ContentSwitcher(initial="overview"):
            yield Pager(id="overview")
            yield Grid(TASK_COLUMNS, id="tasks")
            yield Pager(id="config")
            yield Pager(id="trace")
            yield OffsetsPane(id="offsets")

    @property
    def page(self) -> str:
        return self.query_one(ContentSwitcher).current or "overview"

    @property
    def offsets(self) -> OffsetsPane:
        return self.query_one(OffsetsPane)

    def turn(self, page: str) -> None:
        self.query_one(ContentSwitcher).current = page
        self.draw()
        self.post_message(self.Turned(page))

    def step(self, by: int) -> None:
        self.turn(PAGES[(PAGES.index(self.page) + by) % len(PAGES)])

    def on_tabs_picked(self, event: Tabs.Picked) -> None:
        self.turn(PAGES[event.index])
        self.take_focus()

    def take_focus(self) -> None:
        pane = self.offsets
        if self.page != "offsets":
            self.query_one(f"#{self.page}", Widget).focus()
        else:
            (pane.editor if pane.is_editing else pane.query_one("#partitions")).focus()

    def show(self, name: str | None, connector: Connector | None, stale: bool = False) -> None:
        """`connector` is None when the cluster has none of that name (any more)."""
        another = name != self.name_shown
        self.name_shown, self.stale = name, stale
        if connector is self.connector and not another:
            return
        self.connector = connector
        if another or connector is not None:
            self.offsets.show(connector)
        self.draw(top=another)
        if another and self.page == "offsets":
            self.offsets.ask()

    def draw(self, top: bool = False) -> None:
        one = self.connector
        self.query_one("#head", Bar).put(self._head())
        marks = {"trace": " ✗"} if one is not None and one.traces else {}
        self.query_one(Tabs).pick(PAGES.index(self.page), marks)
        if one is None:
            return
        if self.page == "overview":
            self.query_one("#overview", Pager).put(overview(one, self.notices.get(one.name, ())), top=top)
        elif self.page == "config":
            self.query_one("#config", Pager).put(config(one), top=top)
        elif self.page == "trace":
            self.query_one("#trace", Pager).put(traces.content(one), top=top)
        elif self.page == "tasks":
            self._tasks(one)

    def _head(self) -> Content:
        one = self.connector
        if one is None:
            return Content.assemble((visible(self.name_shown or ""), "bold"), ("  is not there any more", "$warning"))
        return Content.assemble(
            (visible(one.name), "bold"),
            "  ",
            (states.word(one.overall), f"bold {ink(one.overall)}"),
            (f"  tasks {one.tasks_text}" if one.tasks else "  no tasks", "$text-muted"),
            (f"  {visible(one.type)}  {visible(one.short_class)}", "$text-muted"),
        )

    def _tasks(self, one: Connector) -> None:
        tasks = {str(task.id): task for task in one.tasks}
        widths = {
            "worker": max((len(task.worker) for task in one.tasks), default=0),
            "trace": max((len(_first(task)) for task in one.tasks), default=0),
        }
        instead = {"state": Cell("no tasks", "grid--muted")}
        cells = {key: _task_cells(task) for key, task in tasks.items()}
        grid = self.query_one("#tasks", Grid)
        grid.show(list(tasks) or [""], lambda key: cells.get(key, instead), widths)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid.id == "tasks":
            event.stop()
            self.turn("trace")
            self.take_focus()
        elif event.grid.id == "partitions":
            event.stop()
            self.offsets.edit()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()


def ink(state: str) -> str:
    return f"$state-{states.style_class(state).removeprefix('state--')}"


def _first(task: Task) -> str:
    return task.trace.partition("\n")[0]


def _task_cells(task: Task) -> Mapping[str, Cell]:
    return {
        "id": Cell(str(task.id)),
        "state": Cell(states.word(task.state), states.style_class(task.state)),
        "worker": Cell(task.worker, "grid--muted"),
        "version": Cell(task.version, "grid--muted"),
        "trace": Cell(_first(task), "grid--error"),
    }


def overview(one: Connector, notices: Sequence[str] = ()) -> Content:
    """What is asked first: is it well, where does it run, what does it move."""
    parts: list[str | Content | tuple[str, str]] = []

    def line(key: str, *value: str | tuple[str, str]) -> None:
        parts.extend([(f"{key:<10} ", "$text-muted"), *value, "\n"])

    line("state", (states.word(one.state), f"bold {ink(one.state)}"))
    failed = [(f", {one.failed} failed", "bold $error")] if one.failed else []
    line("tasks", f"{one.running} of {counted(len(one.tasks), 'task')} running", *failed)
    line("type", visible(one.type))
    line("class", visible(one.cls), (f"  {visible(one.version)}" if one.version else "", "$text-muted"))
    line("worker", visible(one.worker))
    for key in ("topics", "topics.regex", "topic", "file", "tasks.max", "errors.tolerance", "transforms"):
        if key in one.config:
            line(key, visible(one.config[key]))
    for task in one.tasks:
        name = f"task {task.id}"
        line(name, (states.word(task.state), ink(task.state)), (f"  {visible(task.worker)}", "$text-muted"))
    for heading, why in traces.causes(one):
        parts.append((f"\nwhy {heading} failed (t: all of it)\n", "bold $accent"))
        parts += [(f"{line}\n", "$error") for line in why]
    if notices:
        parts.append(("\nthe worker says\n", "bold $accent"))
        parts += [f"{visible(text)}\n" for text in notices[::-1]]
    return Content.assemble(*parts)


def config(one: Connector) -> Content:
    """As JSON, by key; what looks like a secret is not shown on a screen that others see."""
    shown = {key: "********" if is_secret(key, value) else value for key, value in sorted(one.config.items())}
    return coloured(json.dumps(shown, indent=2, ensure_ascii=False))


def is_secret(key: str, value: str) -> bool:
    """A reference such as `${file:…}` tells nothing and may be seen."""
    return any(word in key.lower() for word in SECRET) and not value.startswith("${")
