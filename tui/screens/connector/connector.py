"""A connector's page with its tabs, beside the list or instead of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tui.model import Connector
from tui.screens.base import stack_traces
from tui.screens.base.pane import Pane
from tui.screens.base.program import copy
from tui.screens.config.pane import ConfigPane
from tui.screens.connector.events import EventsPane, LogPane
from tui.screens.connector.metrics import MetricsPane
from tui.screens.connector.overview_pane import OverviewPane
from tui.screens.connector.pages import PAGES
from tui.screens.connector.topics import TopicsPane
from tui.screens.offsets.pane import OffsetsPane
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.tasks.tasks_pane import TasksPane
from tui.widgets import states
from tui.widgets.bars import Bar
from tui.widgets.grid import Grid
from tui.widgets.pager import Pager
from tui.widgets.tabs import Tabs
from tui.widgets.text import fit, visible


class TracePager(Pager):
    """Root causes first, then every trace in full."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy trace", tooltip="copy the whole trace")]

    def __init__(self, services: ClusterServices, id: str = "trace") -> None:
        super().__init__(id=id)
        self.services = services
        self.connector: Connector | None = None

    def set_connector(self, connector: Connector, top: bool = False) -> None:
        """Shows the traces of the connector; with `top`, scrolls to the first line."""
        self.connector = connector
        self.put(stack_traces.content(connector), top=top)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "copy" or bool(self.connector and self.connector.traces)

    def action_copy(self) -> None:
        """Copies the trace as the worker sent it, with every frame."""
        if self.connector is not None:
            copy(self, self.connector.traces, "the whole trace")


LEAST_NAME = 12  # cells of the name in the head line


class ConnectorView(Vertical):
    """Shows the store's snapshot of one connector; the tabs read everything else themselves."""

    DEFAULT_CSS = """
    ConnectorView { background: $background; }
    ConnectorView > Bar { padding: 0 1; }
    ConnectorView > Tabs { margin: 0 0 1 0; padding: 0 0 0 1; }
    ConnectorView ContentSwitcher { height: 1fr; }
    """

    class Turned(Message):
        """Another tab is shown."""

        def __init__(self, page: str) -> None:
            super().__init__()
            self.page = page

    def __init__(self, notices: Mapping[str, Sequence[str]], services: ClusterServices, id: str | None = None) -> None:
        super().__init__(id=id)
        self.notices, self.services = notices, services  # of the worker, by connector, the newest last
        self.name_shown: str | None = None
        self.connector: Connector | None = None
        self.stale = False

    def compose(self) -> ComposeResult:
        yield Bar(id="head")
        yield Tabs(PAGES)
        with ContentSwitcher(initial="overview"):
            yield OverviewPane(self.services, self.notices)
            yield TasksPane(self.services)
            yield ConfigPane(self.services)
            yield TracePager(self.services)
            yield OffsetsPane(self.services)
            yield TopicsPane(self.services)
            yield LogPane(self.services)
            yield EventsPane(self.services)
            yield MetricsPane(self.services)

    # Tabs

    @property
    def page(self) -> str:
        switchers = self.query(ContentSwitcher)  # none before the first layout
        return (switchers.first().current if switchers else None) or "overview"

    @property
    def offsets(self) -> OffsetsPane:
        return self.query_one(OffsetsPane)

    @property
    def tasks(self) -> TasksPane:
        return self.query_one(TasksPane)

    @property
    def config(self) -> ConfigPane:
        return self.query_one(ConfigPane)

    @property
    def pane(self) -> Pane | None:
        """The open tab, if it reads its contents itself."""
        return next((pane for pane in self.query(Pane) if pane.id == self.page), None)

    def unsaved(self) -> Iterator[tuple[str, str]]:
        """Pairs of a connector with an edited text and the warning about it."""
        for name in self.offsets.has_unsaved:
            yield name, f"edited offsets not applied: {name}"
        for name in self.config.has_unsaved:
            yield name, f"edited config not applied: {name}"

    def turn(self, page: str) -> None:
        """Opens a tab."""
        self.query_one(ContentSwitcher).current = page
        self.draw()
        if (pane := self.pane) is not None:
            pane.opened()
        self.post_message(self.Turned(page))

    def step(self, by: int) -> None:
        self.turn(PAGES[(PAGES.index(self.page) + by) % len(PAGES)])

    def on_tabs_picked(self, event: Tabs.Picked) -> None:
        self.turn(PAGES[event.index])
        self.take_focus()

    def take_focus(self) -> None:
        if (pane := self.pane) is not None:
            pane.take_focus()
        else:
            self.query_one(f"#{self.page}", Widget).focus()

    # Display

    def show(self, name: str | None, connector: Connector | None, stale: bool = False) -> None:
        """`connector` is None if the cluster has no connector of that name."""
        another, has_recovered = name != self.name_shown, self.stale and not stale
        self.name_shown, self.stale = name, stale
        if connector is not self.connector or another:
            self._show(connector, another)
        if has_recovered and not another and (pane := self.pane) is not None:
            pane.recovered()

    def _show(self, connector: Connector | None, another: bool) -> None:
        if self.connector is None and not another:
            for pane in self.query(Pane):
                pane.deleted()
        if connector is None and self.connector is not None:
            self.query_one(TracePager).set_connector(self.connector)
        self.connector = connector
        for pane in self.query(Pane):
            pane.is_gone = connector is None
            if another or connector is not None:
                pane.show(connector)
        self.draw(top=another)

    def draw(self, top: bool = False) -> None:
        shown = self.connector
        self.query_one("#head", Bar).put(self._head())
        marks = {"trace": "✗"} if shown is not None and shown.traces else {}
        self.query_one(Tabs).pick(PAGES.index(self.page), marks)
        if self.page == "trace":
            if shown is not None:
                self.query_one(TracePager).set_connector(shown, top=top)
        elif (pane := self.pane) is not None and pane.is_open:
            pane.draw()

    def _head(self) -> Content:
        connector = self.connector
        if connector is None:
            return Content.assemble((visible(self.name_shown or ""), "bold"), ("  does not exist any more", "$warning"))
        state, tasks = (
            states.word(connector.overall),
            f"  tasks {connector.tasks_text}" if connector.tasks else "  no tasks",
        )
        name = visible(connector.name)
        kind = f"  {visible(connector.type)}  {visible(connector.short_class)}"
        width = self.query_one("#head", Bar).content_size.width
        room = width - len(state) - len(tasks) - 2
        if 0 < room < cell_len(name):  # the state is never cut
            name, kind = fit(name, max(room, LEAST_NAME), middle=True), ""
        return Content.assemble(
            (name, "bold"),
            "  ",
            (state, states.style(connector.overall)),
            (tasks, "$text-muted"),
            (kind, "$text-muted"),
        )

    def on_resize(self) -> None:
        self.query_one("#head", Bar).put(self._head())
        self.query_one(Tabs).draw()  # a change of the height alone does not resize them

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        if event.grid.id == "partitions":
            self.offsets.edit()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
