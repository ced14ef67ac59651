"""The main screen: the connector list, a connector's page beside or instead of it, the prompt, the bars."""

from __future__ import annotations

import time
from asyncio import to_thread
from collections.abc import Coroutine
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from tui.errors import HeadraceError
from tui.model import Connector
from tui.profiles import Profile
from tui.screens.board import Board
from tui.screens.operations import Operation, Operations, Phase
from tui.screens.pages import PAGES
from tui.snapshot import Diff, LinkState, Notice, Snapshot
from tui.widgets.bars import Counters, KeyBar, Status, TitleBar
from tui.widgets.grid import Grid
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.screens.connector import ConnectorView
    from tui.screens.flows import Flows
    from tui.screens.offsets import OffsetsPane

BROAD = 140  # columns from which list and page stand side by side
OFFSETS_EVERY = 3.0  # seconds between looks at offsets that are on the screen
SAID_FOR = 15.0  # seconds that good news stay; bad news stay until the next
NOTICES_KEPT = 10  # of each connector
NOTICE_KINDS = {"WARN": "warn", "WARNING": "warn", "ERROR": "bad"}
KINDS = {Phase.OBSERVED: "good", Phase.FAILED: "bad", Phase.TIMED_OUT: "warn"}


class Home(Screen[None]):
    """Everything the operator sees, but for what is laid over it. `flows` deals with the cluster."""

    DEFAULT_CSS = """
    Home { background: $background; color: $foreground; }
    Home #body { height: 1fr; }
    Home Board { width: 1fr; }
    Home ConnectorView { width: 1fr; display: none; }
    Home.-detail ConnectorView { display: block; }
    Home.-detail Board { display: none; }
    Home.-detail Counters { display: none; }
    Home.-broad.-detail Board { display: block; width: 2fr; }
    Home.-broad.-detail ConnectorView { width: 3fr; border-left: solid $border; }
    Home.-broad.-detail Counters { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="open", show=False),
        Binding("escape", "back", "back", id="back", key_display="esc"),
        Binding("t", "trace", "trace", id="trace"),
        Binding("n", "failure(1)", "next failure", id="next-failure", show=False),
        Binding("N", "failure(-1)", "failure before", id="previous-failure", show=False),
        Binding("slash", "filter", "filter", id="filter", key_display="/"),
        Binding("s", "act('stop')", "stop", id="stop"),
        Binding("p", "act('pause')", "pause", id="pause"),
        Binding("r", "act('resume')", "resume", id="resume"),
        Binding("R", "act('restart')", "restart", id="restart"),
        Binding("e", "edit", "edit offsets", id="edit"),
        Binding("u", "undo", "undo offsets", id="undo"),
        Binding("D", "act('delete')", "delete", id="delete"),
        Binding("o", "log", "log", id="log", tooltip="operations of this session"),
        Binding("colon", "command", "command", id="command", key_display=":"),
        Binding("left,h", "turn(-1)", "page before", id="page-before", show=False),
        Binding("right,l", "turn(1)", "next page", id="page-after", show=False),
        *(
            Binding(str(number), f"page('{page}')", page, id=f"page-{page}", show=False)
            for number, page in enumerate(PAGES, 1)
        ),
        Binding("tab,shift+tab", "switch", "list or page", id="switch", show=False),
        Binding("question_mark", "help", "help", id="help", key_display="?"),
        Binding("f5,ctrl+l", "refresh", "look now", id="refresh", show=False),
        Binding("q", "quit", "quit", id="quit"),
        Binding("ctrl+c", "interrupt", "quit when pressed twice", id="interrupt", show=False),
    ]

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.snapshot = Snapshot()
        self.filter_text = ""
        self.operations = Operations(time.time, self._operation_changed)
        self.notices: dict[str, list[str]] = {}
        self.flows: Flows | None = None
        self._view: ConnectorView | None = None
        self._interrupted = 0.0
        self._asked_at = 0.0
        self._said_at, self._said_kind = 0.0, ""

    def compose(self) -> ComposeResult:
        yield TitleBar(self.profile)
        yield Counters()
        with Horizontal(id="body"):
            yield Board(self.operations.pending, time.time, "board")
        yield Status()
        yield Prompt()
        yield KeyBar()

    # Starting and ending

    def on_mount(self) -> None:
        self.board.focus()
        self.query_one(TitleBar).draw()
        self.query_one(Counters).tell((), self.snapshot.link, "", 0)
        self.call_after_refresh(lambda: self.do(self.start()))

    async def start(self) -> None:
        """After the first paint: the rest of the screen, then the cluster."""
        await to_thread(import_module, "tui.screens.flows")
        from tui.screens.flows import Flows

        self.flows = Flows(self)
        self._view = self.flows.new_view()
        await self.query_one("#body").mount(self._view)
        self.flows.cluster.store.subscribe(self.heard)
        self.flows.cluster.store.on_notice(self.noticed)
        self.do(self.flows.cluster.store.run())
        self.set_interval(1.0, self.tick)

    async def on_unmount(self) -> None:
        if self.flows is not None:
            await self.flows.close()

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
        was_away = self.snapshot.link.state in (LinkState.CONNECTING, LinkState.LOST)
        self.snapshot = snapshot
        if was_away and snapshot.link.state in (LinkState.LIVE, LinkState.POLLING):
            self.do(self.read_version())
        self.operations.observe(snapshot)
        self.draw()

    def noticed(self, notice: Notice) -> None:
        """What our worker says beside states; warnings and errors are worth the status line."""
        task = "" if notice.task is None else f" task {notice.task}"
        text = f"{notice.connector}{task}: {notice.message}".removeprefix(": ")
        said = self.notices.setdefault(notice.connector, [])
        said.append(f"{time.strftime('%H:%M:%S')} {notice.level.lower()}{task}: {notice.message}")
        del said[:-NOTICES_KEPT]
        if notice.level.upper() in NOTICE_KINDS:
            self.say(" ".join(text.split()), NOTICE_KINDS[notice.level.upper()])
        if self._view is not None and self._view.name_shown == notice.connector:
            self._view.draw()

    async def read_version(self) -> None:
        if self.flows is not None:
            version = await self.flows.read_version()
            self.query_one(TitleBar).tell(self.snapshot.link, time.time(), version)

    def draw(self, *, follow: bool = False) -> None:
        """Everything that depends on the snapshot."""
        if not self.is_mounted:
            return
        link = self.snapshot.link
        self.board.set_stale(self.is_stale)
        self.board.update_rows(self.snapshot, self.filter_text, follow=follow)
        self.query_one(TitleBar).tell(link, time.time())
        shown = len(self.board.keys)
        self.query_one(Counters).tell(self.snapshot.connectors.values(), link, self.filter_text, shown)
        if self._view is not None and self._view.name_shown is not None:
            self.show(self._view.name_shown)
        self.refresh_bindings()

    def show(self, name: str) -> None:
        self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    def tick(self) -> None:
        """Each second: staleness, times in the list, operations that wait, offsets on the screen."""
        if self.flows is None:
            return
        now, store = time.time(), self.flows.cluster.store
        self.query_one(TitleBar).tell(store.snapshot.link, now)
        self.operations.observe(store.snapshot)
        if self.operations.open and self.snapshot.link.state is LinkState.POLLING:
            store.refresh()
        if self.snapshot.since and not int(now) % 5:
            self.board.refresh()
        if self.shows_offsets and not self.is_stale and now - self._asked_at >= OFFSETS_EVERY:
            self.view.offsets.ask()
        if self._said_kind in ("good", "info") and now - self._said_at > SAID_FOR:
            self.say("")

    def _operation_changed(self, operation: Operation) -> None:
        kind = "warn" if operation.doubtful else KINDS.get(operation.phase, "busy")
        self.say(f"{operation.title}: {operation.last}", kind)
        self.board.refresh()
        self.refresh_bindings()
        if self.flows is not None:
            self.flows.log_changed()

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

    def target(self) -> Connector | None:
        """What a key acts on: the connector of the page, or the one under the cursor."""
        name = self.view.name_shown if self.is_detail and not self.board.has_focus else self.board.current
        return self.snapshot.connectors.get(name) if name is not None else None

    def say(self, text: str, kind: str = "info") -> None:
        self._said_at, self._said_kind = time.time(), kind if text else ""
        self.query_one(Status).say(text, kind)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")
        self.refresh_bindings()

    # Which keys work

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What makes no sense now is not in the footer either."""
        if action in ("quit", "interrupt"):
            return True
        if self.flows is None or self.query_one(Prompt).is_open:
            return False
        return bool(self._sense(action))

    def _sense(self, action: str) -> object:
        if action in ("act", "edit"):
            return self.target()
        if action == "trace":
            return (one := self.target()) and one.traces
        if action == "failure":
            return any(one.overall == "FAILED" for one in self.snapshot.connectors.values())
        if action == "undo":
            return self.is_detail and self.view.name_shown in self.view.offsets.undone_by
        if action in ("turn", "page"):
            return self.is_detail
        if action == "switch":
            return self.is_detail and self.is_broad
        if action == "back":
            return self.is_detail or self.filter_text
        if action == "open":
            return self.board.has_focus and self.board.current is not None
        return True

    def is_idle(self, action: str) -> bool:
        """Works, but has nothing to do for this connector: not in the footer, though its key says why."""
        if action.startswith("act(") and self.flows is not None:
            return self.flows.is_idle(action[5:-2], self.target())
        if action == "trace":
            return self.is_detail and self.view.page == "trace"
        return action == "filter" and self.is_detail and not self.is_broad

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
        self.view.turn(page or self.view.page)
        self.view.take_focus()
        self.refresh_bindings()

    def action_open(self) -> None:
        self.board.action_open()

    def action_back(self) -> None:
        if self.is_detail:
            self.remove_class("-detail")
            if self.view.name_shown is not None:
                self.board.go(self.view.name_shown)
            self.board.focus()
        elif self.filter_text:
            self.filter_text = ""
            self.draw(follow=True)
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

    def action_filter(self) -> None:
        self.query_one(Prompt).open("/", self.filter_text, lambda text: [])
        self.refresh_bindings()

    def action_command(self, text: str = "") -> None:
        from tui.screens.completion import complete

        self.query_one(Prompt).open(":", text, lambda line: complete(line, self.snapshot.connectors))
        self.hint(text)
        self.refresh_bindings()

    def hint(self, line: str) -> None:
        from tui.screens.completion import hint

        self.say(hint(line, self.snapshot.connectors))

    def catch(self, event: events.Key) -> bool:
        """Keys typed right behind `/` or `:` belong to the prompt, even those that came before it had the focus:
        over SSH several arrive at once."""
        prompt = self.query_one(Prompt)
        if prompt.is_open and event.is_printable and event.character:
            prompt.insert(event.character)
            return True
        return False

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if event.sign == "/":
            self.filter_text = event.text.strip()
            self.draw(follow=True)
        else:
            self.hint(event.text)

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        self.back_to_work()
        if event.sign == ":" and event.text:
            self.typed(event.text)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        if event.sign == "/":
            self.filter_text = ""
            self.draw(follow=True)
        if event.sign:
            self.back_to_work()

    def back_to_work(self) -> None:
        """The focus goes where it was before the prompt."""
        self.say("")
        if self.is_detail and not self.is_broad:
            self.view.take_focus()
        else:
            self.board.focus()
        self.refresh_bindings()

    def typed(self, line: str) -> None:
        """The screen's own few words; all others are commands."""
        words = line.split()
        if line in ("q", "quit", "exit"):
            self.action_quit()
        elif words[0] == "theme":
            self.app.choose_theme(words[1:])  # type: ignore[attr-defined]
        elif self.flows is not None:
            self.flows.typed(line)

    # What the cluster is asked for

    def action_act(self, name: str) -> None:
        if self.flows is not None and (one := self.target()):
            self.flows.act(name, one)

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
        self._asked_at = time.time()
        if self.flows is not None:
            self.do(self.flows.load_offsets(self.view.offsets, event.name))

    def on_offsets_pane_said(self, event: OffsetsPane.Said) -> None:
        self.say(event.text, event.kind)

    def on_offsets_pane_apply(self, event: OffsetsPane.Apply) -> None:
        if self.flows is not None:
            self.flows.apply(self.view.offsets, event.plan)

    def action_log(self) -> None:
        if self.flows is not None:
            self.flows.show_log()

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
            self.flows.quit(self.view.offsets.has_unsaved)
