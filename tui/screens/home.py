"""The main screen: the connector list, a connector's page beside or instead of it, the prompt, the bars."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen

from tui.client import Json
from tui.commands.base import Command, Danger
from tui.editor.apply import Applied, Plan
from tui.editor.changes import Kind
from tui.errors import HeadraceError
from tui.model import Connector
from tui.profiles import Profile
from tui.screens import reading, wording
from tui.screens.actions import ACTIONS, Action
from tui.screens.board import Board
from tui.screens.completion import complete, hint
from tui.screens.connector import PAGES, ConnectorView
from tui.screens.dialog import Dialog
from tui.screens.log import OperationsScreen
from tui.screens.offsets import OffsetsPane
from tui.screens.operations import Operation, Operations, Phase
from tui.script.grammar import parse
from tui.snapshot import Diff, LinkState, Snapshot
from tui.widgets.bars import Counters, KeyBar, Status, TitleBar
from tui.widgets.grid import Grid
from tui.widgets.prompt import Prompt

BROAD = 140  # columns from which list and page stand side by side
OFFSETS_EVERY = 3.0  # seconds between looks at offsets that are on the screen
SAID_FOR = 15.0  # seconds that good news stay; bad news stay until the next
KINDS = {Phase.OBSERVED: "good", Phase.FAILED: "bad", Phase.TIMED_OUT: "warn"}


class Home(Screen[None]):
    """Everything the operator sees, but for what is laid over it."""

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
        Binding("tab,shift+tab", "switch", "list/page", id="switch", show=False),
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
        self.cluster: Any = None  # a Cluster, once it is open
        self.work: Any = None
        self.operations = Operations(time.time, self._operation_changed)
        self._interrupted = 0.0
        self._asked_at = 0.0
        self._said_at, self._said_kind = 0.0, ""

    def compose(self) -> ComposeResult:
        yield TitleBar(self.profile)
        yield Counters()
        with Horizontal(id="body"):
            yield Board(self.operations.pending, time.time, "board")
            yield ConnectorView()
        yield Status()
        yield Prompt()
        yield KeyBar()

    # Starting; what the store says

    def on_mount(self) -> None:
        self.board.focus()
        self.query_one(TitleBar).draw()
        self.call_after_refresh(lambda: self.do(self.connect()))
        self.set_interval(1.0, self.tick)

    async def connect(self) -> None:
        """After the first paint, since the HTTP client takes a while to import."""
        from asyncio import to_thread
        from importlib import import_module

        from tui.screens.cluster import Cluster
        from tui.screens.work import Work

        await to_thread(import_module, "tui.wire.evented")
        self.cluster = Cluster(self.profile)
        self.work = Work(self.cluster, self.operations, self.say)
        self.cluster.store.subscribe(self.heard)
        self.do(self.cluster.store.run())

    def heard(self, snapshot: Snapshot, diff: Diff) -> None:
        came = self.snapshot.link.state in (LinkState.CONNECTING, LinkState.LOST)
        self.snapshot = snapshot
        if came and not self.is_stale and snapshot.link.state is not LinkState.CONNECTING:
            self.do(self.read_version())
        self.operations.observe(snapshot)
        self.draw()

    async def read_version(self) -> None:
        root: Json = await self.cluster.connect.root()
        self.query_one(TitleBar).tell(self.snapshot.link, time.time(), str((root or {}).get("version", "")))

    @property
    def is_stale(self) -> bool:
        return self.snapshot.link.state is LinkState.LOST

    def draw(self, *, follow: bool = False) -> None:
        """Everything that depends on the snapshot."""
        if not self.is_mounted:
            return
        self.board.set_stale(self.is_stale)
        self.board.update_rows(self.snapshot, self.filter_text, follow=follow)
        self.query_one(TitleBar).tell(self.snapshot.link, time.time())
        self.query_one(Counters).tell(
            self.snapshot.connectors.values(), self.snapshot.link, self.filter_text, len(self.board.keys)
        )
        self.draw_view()
        self.refresh_bindings()

    def draw_view(self) -> None:
        name = self.view.name_shown
        if name is not None:
            self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    def tick(self) -> None:
        """Time passes: staleness, times in the list, operations that wait."""
        now = time.time()
        if self.cluster is None:
            return
        self.query_one(TitleBar).tell(self.cluster.store.snapshot.link, now)
        self.operations.observe(self.cluster.store.snapshot)
        if self.operations.open and self.snapshot.link.state is LinkState.POLLING:
            self.cluster.store.refresh()
        if self.snapshot.since and not int(now) % 5:
            self.board.refresh()
        if self.shows_offsets and not self.is_stale and now - self._asked_at >= OFFSETS_EVERY:
            self.view.offsets.ask()
        if self._said_kind in ("good", "info") and now - self._said_at > SAID_FOR:
            self.say("")

    # Pieces

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    @property
    def view(self) -> ConnectorView:
        return self.query_one(ConnectorView)

    @property
    def is_detail(self) -> bool:
        return self.has_class("-detail")

    @property
    def is_broad(self) -> bool:
        return self.has_class("-broad")

    def target(self) -> Connector | None:
        """What a key acts on: the connector of the page, or the one under the cursor."""
        name = self.view.name_shown if self.is_detail and not self.board.has_focus else self.board.current
        return self.snapshot.connectors.get(name) if name is not None else None

    @property
    def shows_offsets(self) -> bool:
        return self.is_detail and self.view.page == "offsets" and not self.view.offsets.is_editing

    def say(self, text: str, kind: str = "info") -> None:
        self._said_at, self._said_kind = time.time(), kind if text else ""
        self.query_one(Status).say(text, kind)

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

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What makes no sense now is not in the footer either."""
        if self.query_one(Prompt).is_open:
            return action in ("back", "help")
        if action in ("act", "edit"):
            return self.target() is not None
        if action == "trace":
            return (one := self.target()) is not None and bool(one.traces)
        if action == "failure":
            return any(one.overall == "FAILED" for one in self.snapshot.connectors.values())
        if action == "undo":
            return (
                self.is_detail and self.view.page == "offsets" and self.view.name_shown in self.view.offsets.undo_plans
            )
        if action in ("turn", "page"):
            return self.is_detail
        if action == "switch":
            return self.is_detail and self.is_broad
        if action == "back":
            return self.is_detail or bool(self.filter_text)
        if action == "open":
            return self.board.has_focus and self.board.current is not None
        return True

    def is_idle(self, action: str) -> bool:
        """Works, but has nothing to do for this connector: not in the footer, though its key says why."""
        if action.startswith("act("):
            return (one := self.target()) is None or bool(ACTIONS[action[5:-2]].needs(one))
        if action == "trace":
            return self.is_detail and self.view.page == "trace"
        return action == "filter" and self.is_detail and not self.is_broad

    # Moving about

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is self.board:
            if self.is_detail and event.key is not None:
                self.view.show(event.key, self.snapshot.connectors.get(event.key), self.is_stale)
            self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid is self.board:
            self.open(event.key)

    def open(self, name: str, page: str = "") -> None:
        self.add_class("-detail")
        self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)
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
            self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    def action_refresh(self) -> None:
        if self.cluster is not None:
            self.cluster.store.refresh()

    # Filter and commands

    def action_filter(self) -> None:
        self.query_one(Prompt).open("/", self.filter_text, lambda text: [])
        self.refresh_bindings()

    def action_command(self, text: str = "") -> None:
        self.query_one(Prompt).open(":", text, lambda line: complete(line, self.snapshot.connectors))
        self.say(hint(text, self.snapshot.connectors))
        self.refresh_bindings()

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if event.sign == "/":
            self.filter_text = event.text.strip()
            self.draw(follow=True)
        else:
            self.say(hint(event.text, self.snapshot.connectors))

    def catch(self, event: events.Key) -> bool:
        """Keys typed right behind `/` or `:` belong to the prompt, even those that came before it had the focus:
        over SSH several arrive at once."""
        prompt = self.query_one(Prompt)
        if prompt.is_open and event.is_printable and event.character:
            prompt.insert(event.character)
            return True
        return False

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        self.back_to_work()
        self.say("")
        if event.sign == ":" and event.text:
            self.typed(event.text)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        if event.sign == "/":
            self.filter_text = ""
            self.draw(follow=True)
        self.say("")
        if event.sign:
            self.back_to_work()

    def back_to_work(self) -> None:
        """The focus goes where it was before the prompt."""
        if self.is_detail and not self.is_broad:
            self.view.take_focus()
        else:
            self.board.focus()
        self.refresh_bindings()

    def typed(self, line: str) -> None:
        """A command line: the same grammar as in scripts, and the screen's own few words."""
        if line in ("q", "quit", "exit"):
            self.action_quit()
            return
        if line.split()[0] == "theme":
            self.app.choose_theme(line.split()[1:])  # type: ignore[attr-defined]
            return
        try:
            command = parse(line)
        except HeadraceError as error:
            self.say(" ".join(str(error).split()), "bad")
            return
        if command is not None and self.is_open_for(command.changes):
            self.do(self.run_command(command, line))

    def is_open_for(self, change: bool) -> bool:
        """Says why not, when there is no cluster to talk to."""
        if self.work is None:
            self.say("not connected yet", "warn")
        elif change and self.is_stale:
            self.say("the cluster does not answer: nothing is sent until it is back", "warn")
        else:
            return True
        return False

    async def run_command(self, command: Command, line: str) -> None:
        if command.changes and command.danger and not command.values.get("yes") and not command.values.get("dry_run"):
            preview = await self.work.preview(command)
            if preview is None:
                return
            count, named = len(preview.outcomes), command.danger is Danger.NAME
            name = str(count) if count > 1 else preview.outcomes[0].name if named and count else ""
            title = line if count < 2 else f"{line}: {count} connectors, type {count} to go on"
            body = reading.of_result(preview, wide=False)
            if not await self.app.push_screen_wait(Dialog(title, body, command.verb.split()[0], name=name)):
                self.say(f"not done: {line}")
                return
        result = await self.work.run(command, line)
        if result is None:
            return
        if not result.is_confirmation:
            form = command.values.get("output") or ("wide" if self.is_broad else "table")
            self.app.push_screen(reading.Reading(f":{line}", reading.of_output(result, form)))
        elif len(result.outcomes) > 1:
            self.app.push_screen(reading.Reading(f":{line}", reading.of_result(result, wide=True)))

    # Actions

    def action_act(self, name: str) -> None:
        one, action = self.target(), ACTIONS[name]
        if one is None or not self.is_open_for(True):
            return
        if running := self.operations.pending(one.name):
            self.say(f"{running.title} is still under way", "warn")
        elif why := action.needs(one):
            self.say(why)
        else:
            self.do(self.ask_and_act(action, one))

    async def ask_and_act(self, action: Action, one: Connector) -> None:
        if self.profile.read_only:
            self.say(f"{action.name} refused: the context {self.profile.label} is read-only", "bad")
            return
        if action.danger and not await self.app.push_screen_wait(self.question(action, one)):
            self.say(f"not done: {action.name} {one.name}")
            return
        now = self.snapshot.connectors.get(one.name)
        if now is None:
            self.say(f"{one.name} is gone meanwhile", "warn")
            return
        await self.work.act(action, now)

    def question(self, action: Action, one: Connector) -> Dialog:
        name = one.name if action.danger is Danger.NAME else ""
        body = Content.assemble(
            f"{action.effect}\n\n", (f"{one.overall}, {one.tasks_text} tasks, {one.type}", "$text-muted")
        )
        where = f" on {self.profile.label}" if self.profile.production else ""
        return Dialog(f"{action.name} {one.name}{where}?", body, action.name, name=name, danger=self.profile.production)

    def _operation_changed(self, operation: Operation) -> None:
        kind = "warn" if operation.doubtful else KINDS.get(operation.phase, "busy")
        self.say(f"{operation.title}: {operation.last}", kind)
        self.board.refresh()
        self.refresh_bindings()
        for screen in self.app.screen_stack:
            if isinstance(screen, OperationsScreen):
                screen.draw()

    # Offsets

    def action_edit(self) -> None:
        if one := self.target():
            self.open(one.name, "offsets")
            self.view.offsets.edit()

    def action_undo(self) -> None:
        self.view.turn("offsets")
        self.view.offsets.undo()

    def on_connector_view_turned(self, event: ConnectorView.Turned) -> None:
        if event.page == "offsets" and not self.view.offsets.is_editing:
            self.view.offsets.ask()
        self.refresh_bindings()

    def on_offsets_pane_asked(self, event: OffsetsPane.Asked) -> None:
        self._asked_at = time.time()
        if self.work is not None:
            self.do(self.load_offsets(event.name))

    async def load_offsets(self, name: str) -> None:
        try:
            found = await self.work.offsets(name)
        except HeadraceError as error:
            self.view.offsets.unreadable(name, " ".join(str(error).split()))
        else:
            self.view.offsets.loaded(name, found)

    def on_offsets_pane_said(self, event: OffsetsPane.Said) -> None:
        self.say(event.text, event.kind)

    def on_offsets_pane_apply(self, event: OffsetsPane.Apply) -> None:
        if self.is_open_for(True):
            self.do(self.ask_and_apply(event.plan))

    async def ask_and_apply(self, plan: Plan) -> None:
        if self.profile.read_only:
            self.say(f"altering refused: the context {self.profile.label} is read-only", "bad")
            return
        resets = any(change.kind is Kind.RESET for change in plan.changes)
        yes = f"stop, alter, {plan.way_back}" if plan.must_stop else "alter"
        dialog = Dialog(
            f"alter the offsets of {plan.name}?", wording.question(plan), yes, name=plan.name if resets else ""
        )
        if not await self.app.push_screen_wait(dialog):
            self.say("not applied; the text is kept")
            return
        pane = self.view.offsets
        pane.applying(plan.name)
        done = await self.work.apply(plan)
        if isinstance(done, Applied):
            pane.applied(plan, done)
        else:
            pane.refused(plan, done)
        self.refresh_bindings()

    # Over the screen

    def action_log(self) -> None:
        self.app.push_screen(OperationsScreen(self.operations, self.profile.url))

    def action_help(self) -> None:
        text = reading.help_text(list(self.active_bindings.values()), self.app.get_key_display)
        self.app.push_screen(reading.Reading("help", text))

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
        under_way = [one for one in self.operations.open if one.phase is Phase.REQUESTED]
        unsaved = self.view.offsets.has_unsaved
        if under_way or unsaved:
            self.do(self.ask_and_quit([one.title for one in under_way], unsaved))
        else:
            self.app.exit(0)

    async def ask_and_quit(self, under_way: list[str], unsaved: list[str]) -> None:
        lines = [f"under way, would be cut off: {title}" for title in under_way]
        lines += [f"edited offsets not applied: {name}" for name in unsaved]
        if await self.app.push_screen_wait(Dialog("quit?", reading.plain("\n".join(lines)), "quit")):
            self.app.exit(0)
