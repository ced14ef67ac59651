"""The main screen: the connector list, a connector's page beside or instead of it, the prompt, the bars."""

from __future__ import annotations

import time
from asyncio import to_thread
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.worker import Worker

from tui.cluster.snapshot import Diff, Notice, Snapshot
from tui.contexts.profiles import Profile
from tui.screens.home.connector_list import Board
from tui.screens.home.key_enablement import Sense
from tui.screens.home.keys import KEYS, LAYOUT
from tui.screens.home.line import TypedLine
from tui.screens.home.many import Many
from tui.screens.home.moves import Moves
from tui.screens.home.navigation import Around
from tui.screens.home.news import News
from tui.screens.operations.operations import Operations
from tui.widgets.bars import Counters, KeyBar, StatusBar, TitleBar

if TYPE_CHECKING:
    from tui.metrics.progress import ProgressMonitor
    from tui.screens.connector.connector import ConnectorView


class Home(Moves):
    """Everything the operator sees, but for what is laid over it. `flows` deals with the cluster."""

    DEFAULT_CSS = LAYOUT
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.sense, self.line, self.news, self.many = Sense(self), TypedLine(self), News(self), Many(self)
        self.around = Around(self)
        self.operations = Operations(time.time, self.news.stepped)
        self.notices: dict[str, list[str]] = {}
        self.progress: ProgressMonitor | None = None
        self._watching: Worker[None] | None = None
        self._interrupted = 0.0

    def compose(self) -> ComposeResult:
        yield TitleBar(self.profile)
        yield Counters()
        with Horizontal(id="body"):
            yield Board(self.operations.pending, time.time, "board")
        yield StatusBar()
        yield KeyBar()

    # Starting and ending

    def on_mount(self) -> None:
        self.board.focus()
        self.board.marks = self.many.marks
        self.query_one(TitleBar).draw()
        self.count()
        self.call_after_refresh(lambda: self.do(self.start()))

    async def start(self) -> None:
        """After the first paint: the rest of the screen, then the cluster."""
        await to_thread(_load)
        from tui.metrics.progress import ProgressMonitor
        from tui.screens.home.controller import Flows

        await self.line.mount()
        self.flows = Flows(self)
        self._view = self.flows.new_view()
        store = self.flows.cluster.store
        self.progress = ProgressMonitor(self.flows.cluster.connect, self._progressed)
        store.on_notice(self.noticed)
        store.on_progress(self.progress.update)
        self.wake()  # its answer is on the way while the connector's page is put up
        await self.query_one("#body").mount(self._view)
        store.subscribe(self.heard)
        self.heard(store.snapshot, Diff(link=True))
        self.set_interval(1.0, self.news.tick)

    async def on_unmount(self) -> None:
        if self.flows is not None:
            await self.flows.close()

    def _progressed(self) -> None:
        if self.progress is not None:
            self.board.show_progress(self.progress.known)

    def wake(self) -> None:
        """Watches the cluster, from the first time or again."""
        self.news.resting = False
        if self.flows is not None and (self._watching is None or self._watching.is_finished):
            self._watching = self.run_worker(self._harmless(self.flows.cluster.store.run()), exit_on_error=False)

    def rest(self) -> None:
        """Another cluster is on the screen: this one is watched until its operations have ended."""
        self.news.resting = True

    def unwatch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    # What the store says, and what time does to it

    def heard(self, snapshot: Snapshot, diff: Diff) -> None:
        with self.guarded():
            self.news.heard(snapshot, diff)

    def noticed(self, notice: Notice) -> None:
        with self.guarded():
            self.news.noticed(notice)

    async def read_version(self) -> None:
        if version := await self.around.read_root():
            self.query_one(TitleBar).tell(self.snapshot.link, time.time(), version)

    # Which keys work

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.sense.allows(action)

    def is_idle(self, action: str) -> bool:
        return self.sense.is_idle(action)

    # What the cluster is asked for

    def action_act(self, name: str) -> None:
        if self.many.marks and not self.is_on_page:
            self.many.act(name)
        elif self.flows is not None and (one := self.target()):
            self.flows.act(name, one)

    def action_mark(self) -> None:
        self.many.mark()

    def action_mark_all(self) -> None:
        self.many.mark_all()

    def action_bulk(self) -> None:
        self.many.menu()

    def action_edit(self) -> None:
        if one := self.target():
            self.open(one.name, "offsets")
            self.view.offsets.edit()

    def action_undo(self) -> None:
        self.view.turn("offsets")
        self.view.offsets.undo()

    def on_connector_view_turned(self, event: ConnectorView.Turned) -> None:
        self.refresh_bindings()

    def action_clusters(self) -> None:
        self.do(self.around.clusters())

    def action_workers(self) -> None:
        self.do(self.around.workers())

    def action_loggers(self) -> None:
        self.do(self.around.loggers())

    def action_log(self) -> None:
        if self.flows is not None:
            self.flows.show_log()

    def action_plugins(self) -> None:
        self.view.desk.show_plugins()

    def action_dead_letters(self) -> None:
        if one := self.target():
            self.view.desk.show_dead_letters(one)

    def action_help(self) -> None:
        if self.flows is not None:
            self.flows.show_help()

    # Leaving

    def action_interrupt(self) -> None:
        """^C by habit does no harm; twice within two seconds means it."""
        now = time.monotonic()
        if now - self._interrupted < 2.0:
            self.action_quit()
        else:
            self._interrupted = now
            self.say("q quits; so does ^C pressed again within two seconds")

    def action_quit(self) -> None:
        if self.flows is None:
            self.app.exit(0)
        else:
            self.flows.quit()

    @property
    def losses(self) -> list[str]:
        """What quitting now would lose, one line each."""
        return self.flows.losses if self.flows is not None else []

    @property
    def unsaved(self) -> list[str]:
        """What would be lost, a line each: edits of what is deleted meanwhile could be applied nowhere."""
        there = self.snapshot.connectors
        return [line for name, line in self.view.unsaved() if name in there] if self._view is not None else []


def _load() -> None:
    """What takes its time to import; in a thread, so that keys are answered meanwhile."""
    for name in ("tui.screens.home.controller", "tui.wire.evented"):
        import_module(name)
