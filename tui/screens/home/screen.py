"""The main screen: the connector list, a connector's page beside or instead of it, the prompt, the bars."""

from __future__ import annotations

import time
from asyncio import to_thread
from collections.abc import Coroutine
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.worker import Worker

from tui.errors import HeadraceError
from tui.model import Connector
from tui.profiles import Profile
from tui.screens import program
from tui.screens.board import Board
from tui.screens.home.around import Around
from tui.screens.home.keys import BROAD, KEYS, LAYOUT
from tui.screens.home.line import TypedLine
from tui.screens.home.many import Many
from tui.screens.home.news import News
from tui.screens.home.sense import Sense
from tui.screens.operations import Operations
from tui.snapshot import Diff, LinkState, Notice, Snapshot
from tui.widgets.bars import Counters, KeyBar, Shown, Status, TitleBar
from tui.widgets.grid import Grid

if TYPE_CHECKING:
    from tui.progress import Progress
    from tui.screens.connector import ConnectorView
    from tui.screens.flows import Flows
    from tui.screens.offsets import OffsetsPane
    from tui.widgets.prompt import Prompt


class Home(Screen[None]):
    """Everything the operator sees, but for what is laid over it. `flows` deals with the cluster."""

    DEFAULT_CSS = LAYOUT
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.snapshot = Snapshot()
        self.filter_text = ""
        self.sense, self.line, self.news, self.many = Sense(self), TypedLine(self), News(self), Many(self)
        self.around = Around(self)
        self.operations = Operations(time.time, self.news.stepped)
        self.notices: dict[str, list[str]] = {}
        self.flows: Flows | None = None
        self.progress: Progress | None = None
        self._view: ConnectorView | None = None
        self._watching: Worker[None] | None = None
        self._interrupted = 0.0
        self.asked_at = 0.0  # when offsets on the screen were last asked for
        self.said_at, self.said_kind = 0.0, ""

    def compose(self) -> ComposeResult:
        yield TitleBar(self.profile)
        yield Counters()
        with Horizontal(id="body"):
            yield Board(self.operations.pending, time.time, "board")
        yield Status()
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
        await to_thread(import_module, "tui.screens.flows")
        from tui.progress import Progress
        from tui.screens.flows import Flows

        await self.line.mount()
        self.flows = Flows(self)
        self._view = self.flows.new_view()
        await self.query_one("#body").mount(self._view)
        self.progress = Progress(self.flows.cluster.connect, self._progressed)
        self.flows.cluster.store.subscribe(self.heard)
        self.flows.cluster.store.on_notice(self.noticed)
        self.wake()
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

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs it as a worker that cannot end the program."""
        self.run_worker(self._harmless(coroutine), exit_on_error=False)

    async def _harmless(self, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            await coroutine
        except HeadraceError as error:
            self.say(" ".join(str(error).split()), "bad")
        except Exception as error:
            self.log.error(error)
            self.say(f"this should not happen: {error!r}", "bad")

    # What the store says, and what time does to it

    def heard(self, snapshot: Snapshot, diff: Diff) -> None:
        self.news.heard(snapshot, diff)

    def noticed(self, notice: Notice) -> None:
        self.news.noticed(notice)

    async def read_version(self) -> None:
        if version := await self.around.read_root():
            self.query_one(TitleBar).tell(self.snapshot.link, time.time(), version)

    def draw(self, *, follow: bool = False) -> None:
        """Everything that depends on the snapshot."""
        if not self.is_mounted:
            return
        link = self.snapshot.link
        self.board.set_stale(self.is_stale)
        self.board.update_rows(self.snapshot, self.filter_text, follow=follow)
        self.query_one(TitleBar).tell(link, time.time())
        self.count()
        if self._view is not None and self._view.name_shown is not None:
            self.show(self._view.name_shown)
        self.refresh_bindings()

    def count(self) -> None:
        """The line above the list."""
        shown = Shown(self.filter_text, len(self.board.keys), len(self.many.marks))
        self.query_one(Counters).tell(self.board.rows.counts, self.snapshot.link, shown)

    def show(self, name: str) -> None:
        self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    # Pieces

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    @property
    def view(self) -> ConnectorView:
        """There from the moment the cluster is."""
        assert self._view is not None
        return self._view

    @property
    def is_stale(self) -> bool:
        return self.snapshot.link.state is LinkState.LOST

    @property
    def is_detail(self) -> bool:
        return self.has_class("-detail")

    @property
    def is_broad(self) -> bool:
        return self.has_class("-broad")

    @property
    def shows_offsets(self) -> bool:
        return self.is_detail and self.view.page == "offsets" and not self.view.offsets.is_editing

    @property
    def is_on_page(self) -> bool:
        """Whether keys mean the connector of the page, not the list."""
        return self.is_detail and not self.board.has_focus

    def target(self) -> Connector | None:
        """What a key acts on: the connector of the page, or the one under the cursor."""
        name = self.view.name_shown if self.is_on_page else self.board.current
        return self.snapshot_of(name) if name is not None else None

    def snapshot_of(self, name: str) -> Connector | None:
        return self.snapshot.connectors.get(name)

    def is_refused(self, what: str) -> bool:
        """Says so where the context forbids changes; nothing is asked first."""
        if self.profile.read_only:
            self.say(f"{what} refused: the context {self.profile.label} is read-only", "bad")
        return self.profile.read_only

    def say(self, text: str, kind: str = "info") -> None:
        self.said_at, self.said_kind = time.time(), kind if text else ""
        self.query_one(Status).say(text, kind)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")
        self.refresh_bindings()

    # Which keys work

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.sense.allows(action)

    def is_idle(self, action: str) -> bool:
        return self.sense.is_idle(action)

    # Moving about

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is self.board:
            if self.is_detail and event.key is not None:
                self.show(event.key)
            self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid is self.board:
            self.open(event.key)

    def open(self, name: str, page: str = "") -> None:
        self.add_class("-detail")
        self.show(name)
        self.view.turn(page or self._page_for(name))
        self.view.take_focus()
        self.refresh_bindings()

    def _page_for(self, name: str) -> str:
        """The page that was last looked at, if there is something on it."""
        one = self.snapshot_of(name)
        return "overview" if self.view.page == "trace" and not (one and one.traces) else self.view.page

    def action_open(self) -> None:
        self.board.action_open()

    def action_back(self) -> None:
        if self.is_detail:
            self.remove_class("-detail")
            if self.view.name_shown is not None:
                self.board.go(self.view.name_shown)
            self.board.focus()
        elif self.filter_text:
            self.set_filter("")
        else:
            self.many.clear()
        self.refresh_bindings()

    def action_back_to_list(self) -> None:
        self.remove_class("-detail")
        self.board.focus()
        self.refresh_bindings()

    def action_turn(self, by: int) -> None:
        self.view.step(by)
        self.view.take_focus()

    def action_page(self, page: str) -> None:
        self.view.turn(page)
        self.view.take_focus()

    def action_switch(self) -> None:
        if self.board.has_focus:
            self.view.take_focus()
        else:
            self.board.focus()
        self.refresh_bindings()

    def action_trace(self) -> None:
        if one := self.target():
            self.open(one.name, "trace")

    def action_failure(self, step: int) -> None:
        name = self.board.next_failure(step)
        if name is None:
            self.say("no failure in this list")
            return
        self.board.go(name)
        if self.is_detail:
            self.show(name)

    def action_refresh(self) -> None:
        if self.flows is not None:
            self.flows.cluster.store.refresh()

    # Filter and commands

    def set_filter(self, text: str) -> None:
        self.filter_text = text
        self.draw(follow=True)

    def action_filter(self) -> None:
        self.line.filter()

    def action_command(self, text: str = "") -> None:
        self.line.command(text)

    def catch(self, event: events.Key) -> bool:
        """A key that no widget took."""
        return self.line.catch(event)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.line.typed(event)

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        self.line.submitted(event)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self.line.left(event)

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
        if self.shows_offsets:
            self.view.offsets.ask()
        self.refresh_bindings()

    def on_offsets_pane_asked(self, event: OffsetsPane.Asked) -> None:
        self.asked_at = time.time()
        if self.flows is not None:
            self.do(self.flows.load_offsets(self.view.offsets, event.name))

    def on_offsets_pane_said(self, event: OffsetsPane.Said) -> None:
        self.say(event.text, event.kind)

    def on_offsets_pane_apply(self, event: OffsetsPane.Apply) -> None:
        if self.flows is not None:
            self.flows.apply(self.view.offsets, event.plan)

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
            self.say("q quits; so does ^C pressed again")

    def action_quit(self) -> None:
        if self.flows is None:
            self.app.exit(0)
        else:
            self.flows.quit(program.of(self).unsaved)

    @property
    def unsaved(self) -> list[str]:
        """What would be lost, a line each."""
        return self.view.has_unsaved if self._view is not None else []
