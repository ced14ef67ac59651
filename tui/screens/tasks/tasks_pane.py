"""The tasks tab: the tasks of a connector, and what is known of the one under the cursor; a key restarts it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message

from tui.errors import HeadraceError, Refused
from tui.formatting import one_line
from tui.model import Task
from tui.screens.base import log_lines
from tui.screens.base.pane import Pane
from tui.screens.base.program import copy
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.last_restarts import KnownRestarts, LastRestart
from tui.screens.services.offset_reader import OffsetReader
from tui.screens.tasks import task_text
from tui.screens.tasks.task_table import TaskTable
from tui.screens.tasks.task_text import TaskFacts
from tui.widgets.grid import Grid
from tui.widgets.pager import Pager
from tui.wire import audit

if TYPE_CHECKING:
    from tui.client.responses import RestartsResponse

LOG_LINES = 200  # of the connector, which those of the task are among
BROAD = 130  # columns of the page from which list and text are side by side


class TasksPane(Pane):
    """Reads offsets, log and restarts while it is visible; other workers have neither a log nor restarts."""

    FOCUS = "#task-list"
    interval = 5.0
    DEFAULT_CSS = """
    TasksPane #task-parts { height: 1fr; layout: vertical; }
    TasksPane #task-list { height: 4; }
    TasksPane #task-text { height: 1fr; border-top: solid $border; }
    TasksPane.-broad #task-parts { layout: horizontal; }
    TasksPane.-broad #task-list { width: 2fr; height: 1fr; }
    TasksPane.-broad #task-text { width: 3fr; border-top: none; border-left: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "restart_task", "restart task", id="restart-task", tooltip="restart the task under the cursor"),
        Binding("y", "copy", "copy trace", id="copy-trace", tooltip="copy the trace of the task under the cursor"),
        Binding("tab,shift+tab", "other_part", "tasks or text", show=False),
    ]

    class RestartWanted(Message):
        """The key that restarts a task was pressed."""

        def __init__(self, connector: str, task: int) -> None:
            super().__init__()
            self.connector, self.task = connector, task

    def __init__(self, services: ClusterServices, id: str = "tasks") -> None:
        super().__init__(services, id)
        self.reader = OffsetReader(services)
        self.facts = TaskFacts()
        self.automatic: RestartsResponse | None = None
        self.logged: list[dict[str, object]] = []  # restarts in the audit log of this machine
        self._shown: tuple[str, str] = ("", "")  # connector and task of the text
        self._reading = False

    def compose(self) -> ComposeResult:
        with Container(id="task-parts"):
            yield TaskTable()
            yield Pager(id="task-text")

    @property
    def grid(self) -> TaskTable:
        return self.query_one(TaskTable)

    @property
    def pager(self) -> Pager:
        return self.query_one(Pager)

    @property
    def selected(self) -> Task | None:
        """The task under the cursor."""
        tasks = self.connector.tasks if self.connector is not None else ()
        return next((task for task in tasks if str(task.id) == self.grid.current), None)

    def go(self, task: int) -> None:
        """Moves the cursor to a task."""
        self.grid.go(str(task))

    # Reading

    def reset(self) -> None:
        self.facts, self.automatic, self.logged = TaskFacts(), None, []
        self.grid.cursor = None  # the numbers of tasks are those of any connector

    def fetch(self) -> None:
        if self.connector is not None and not self._reading:
            self._reading = True
            self.services.do(self._read(self.connector.name))

    async def _read(self, name: str) -> None:
        try:
            facts = await self._log(name, await self._offsets(name, self.facts))
            automatic = await self._automatic(name)
            label = self.services.profile.label
            logged = await asyncio.to_thread(audit.restarts, label, name)
        finally:
            self._reading = False
        if name == self.name_shown:
            self.facts, self.automatic, self.logged = facts, automatic, logged
            if self.is_open:
                self.draw()

    async def _offsets(self, name: str, facts: TaskFacts) -> TaskFacts:
        try:
            return facts._replace(offsets=await self.reader.read(name), no_offsets="")
        except HeadraceError as error:
            return facts._replace(offsets=None, no_offsets=one_line(error.message))

    async def _log(self, name: str, facts: TaskFacts) -> TaskFacts:
        if not self.services.is_ours:
            return facts._replace(lines=None, no_lines=log_lines.NO_LOG)
        try:
            return facts._replace(lines=await self.services.connect.logs(name, LOG_LINES), no_lines="")
        except Refused as error:
            return facts._replace(lines=None, no_lines=one_line(error.message))
        except HeadraceError as error:
            return facts._replace(no_lines=one_line(error.message))

    async def _automatic(self, name: str) -> RestartsResponse | None:
        try:
            return await self.services.connect.restarts(name) if self.services.is_ours else None
        except HeadraceError:  # an older worker has none
            return None

    def last_restart(self, task: int) -> LastRestart | None:
        """The last restart of a task that is known here."""
        known = KnownRestarts(self.services.operations.log, self.logged, self.automatic)
        return known.last(self.name_shown, task)

    # Display

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")
        self._fit_list()

    def _fit_list(self) -> None:
        """Above the text, the list takes as many lines as it needs, at most two fifths."""
        rows = len(self.connector.tasks) if self.connector is not None else 0
        lines = min(max(rows, 1) + 1, max(4, self.size.height * 2 // 5))
        self.grid.styles.height = "1fr" if self.has_class("-broad") else lines

    def draw(self) -> None:
        if self.connector is not None:
            self._fit_list()
            is_new = self.grid.cursor is None
            self.grid.set_connector(self.connector)
            self.grid.set_stale(self.is_gone)
            failed = next((task.id for task in self.connector.tasks if task.state == "FAILED"), None)
            if is_new and failed is not None:
                self.go(failed)
            self.show_current()

    def show_current(self) -> None:
        """Shows what is known of the task under the cursor."""
        connector, task = self.connector, self.selected
        shown = (self.name_shown, "" if task is None else str(task.id))
        top, self._shown = shown != self._shown, shown
        if connector is None or task is None:
            self.pager.put(Content(""), top=top)
            return
        since = self.services.snapshot.since.get(connector.name)
        restart = self.last_restart(task.id)
        text = task_text.of_task(connector, task, self.facts, restart, since, time.time())
        self.pager.put(self.dimmed(text) if self.is_gone else text, top=top)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.show_current()
        self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.pager.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy":
            return bool(self.is_mounted and self.selected and self.selected.trace)
        return action != "restart_task" or bool(self.connector and self.connector.tasks)

    def action_other_part(self) -> None:
        """From the tasks to the text; from there to the list of connectors if it is beside the page."""
        if self.grid.has_focus:
            self.pager.focus()
        elif self.screen.has_class("-broad"):
            raise SkipAction
        else:
            self.grid.focus()

    def action_restart_task(self) -> None:
        if self.connector is not None and (task := self.selected) is not None:
            self.post_message(self.RestartWanted(self.connector.name, task.id))

    def action_copy(self) -> None:
        if (task := self.selected) is not None:
            copy(self, task.trace, f"the trace of {self.name_shown}/{task.id}")
