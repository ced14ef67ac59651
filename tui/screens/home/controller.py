"""What takes more than a key: asking, doing, and saying what became of it. Imported after the first paint."""

from __future__ import annotations

from asyncio import Future, get_running_loop, wait_for
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from tui.commands.base import Command, Danger
from tui.commands.result import Result
from tui.errors import HeadraceError, error_line
from tui.model import Connector
from tui.screens.base import program, reading
from tui.screens.base.cluster import Cluster
from tui.screens.base.cluster_services import Desk
from tui.screens.base.dialog import Dialog
from tui.screens.connector.connector import ConnectorView
from tui.screens.home.base import AWAY, LINK
from tui.screens.offsets import unfinished
from tui.screens.operations.actions import ACTIONS, Action
from tui.screens.operations.log import OperationsScreen
from tui.screens.operations.operation_runner import Work, summary
from tui.screens.operations.operations import Phase, described
from tui.script.grammar import parse
from tui.scrubbing import scrubbed_line

if TYPE_CHECKING:
    from tui.screens.home import Home


class Flows:
    """The main screen's dealings with its cluster."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.cluster = Cluster(home.profile)
        self.work = Work(self.cluster, home.operations, home.say)

    def new_view(self) -> ConnectorView:
        desk = Desk(self.home, self.cluster)
        self.home.do(unfinished.offer(self.home, desk))
        return ConnectorView(self.home.notices, desk)

    def may(self, change: bool) -> bool:
        """Says why not, when nothing can be sent."""
        if change and self.home.is_stale:
            self.home.say(AWAY, "warn", LINK)
            return False
        return True

    def put(self, dialog: Dialog) -> Future[bool]:
        """A question, over the list before anything else happens: keys that are on their way mean the question."""
        answer: Future[bool] = get_running_loop().create_future()
        self.home.app.push_screen(dialog, lambda said: None if answer.done() else answer.set_result(bool(said)))
        return answer

    async def agreed(self, answer: Future[bool], what: str) -> bool:
        if await answer:
            return True
        self.home.say(f"not done: {what}")
        return False

    # Keys for one connector

    def is_idle(self, name: str, one: Connector | None) -> bool:
        return one is None or bool(ACTIONS[name].needs(one))

    def act(self, name: str, one: Connector) -> None:
        action = ACTIONS[name]
        if running := self.home.operations.pending(one.name):
            self.home.say(f"{running.title} is still under way", "warn")
        elif why := action.needs(one):
            self.home.say(why)
        elif self.may(change=True) and not self.home.is_refused(action.name):
            answer = self.put(self._question(action, one)) if action.danger else None
            self.home.do(self._act(action, one, answer))

    async def _act(self, action: Action, one: Connector, answer: Future[bool] | None) -> None:
        if answer is not None and not await self.agreed(answer, f"{action.name} {one.name}"):
            return
        now = self.home.snapshot.connectors.get(one.name)
        if now is None:
            self.home.say(f"{one.name} is gone meanwhile", "warn")
        elif self.may(change=True):
            await self.work.act(action, now)

    def _question(self, action: Action, one: Connector) -> Dialog:
        profile = self.home.profile
        facts = f"{described(one)}, {one.type}"
        body = Content.assemble(" ".join((action.effect, action.otherwise)).strip(), "\n\n", (facts, "$text-muted"))
        where = f" on {profile.label}" if profile.production else ""
        name = one.name if action.danger is Danger.NAME else ""
        return Dialog(f"{action.name} {one.name}{where}?", body, action.name, name=name, danger=profile.production)

    # Typed commands

    def typed(self, line: str) -> None:
        """The same grammar as in scripts."""
        try:
            command = parse(line)
        except HeadraceError as error:
            self.home.say(error_line(error), "bad")
            return
        if command is None:
            return
        line = scrubbed_line(line)  # it is shown, logged and copied
        sends = command.changes and not command.values.get("dry_run")
        if not (sends and self.home.is_refused(command.verb)) and self.may(command.changes):
            self.home.do(self._run(command, line))

    async def _run(self, command: Command, line: str) -> None:
        if command.danger and not command.values.get("dry_run"):  # --yes is for scripts
            dialog = await self._preview(command, line)
            if dialog is None or not await self.agreed(self.put(dialog), line):
                return
        result = await self.work.run(command, line)
        if not command.changes:  # what changes is an operation, which tells its end
            self.home.settle()
        if result is not None:
            await self._show(command, line, result)
            self._offer({outcome.name for outcome in result.outcomes if outcome.failed})

    def _offer(self, failed: set[str]) -> None:
        """Changes of offsets that could not be brought to their end are asked about when the cluster is back."""
        desk = self.home.view.desk
        for name in failed and failed & {intent.plan.name for intent in unfinished.interrupted(desk)}:
            desk.offer_unfinished(name)

    async def _preview(self, command: Command, line: str) -> Dialog | None:
        """Shows all targets first; more than one want their number typed."""
        preview = await self.work.preview(command)
        if preview is None:
            return None
        count = len({outcome.name for outcome in preview.outcomes})
        if count > 1:
            title, name = f"{line}: {count} connectors, type {count} to go on", str(count)
        else:
            named = command.danger is Danger.NAME and preview.outcomes
            title, name = line, preview.outcomes[0].name if named else ""
        return Dialog(title, reading.of_result(preview, wide=False), command.verb.split()[0], name=name)

    async def _show(self, command: Command, line: str, result: Result) -> None:
        form = command.values.get("output") or ""
        if not result.is_confirmation and not (form or result.table or result.text):
            return  # written to a file, say: it was told
        if not result.is_confirmation:
            await self._open(reading.page(line, result, form))
        elif len(result.outcomes) > 1:
            await self._open(reading.page(line, result))
        elif command.local or not command.changes:  # no operation says it
            self.home.say(summary(result.outcomes), "bad" if result.exit_code else "good")

    async def _open(self, page: reading.Reading) -> None:
        """No page jumps over a line that is being typed, unless that lies there for a minute."""
        with suppress(TimeoutError):
            await wait_for(self.home.line.closed(), 60)
        self.home.app.push_screen(page)

    # Over the screen

    def show_log(self) -> None:
        self.home.app.push_screen(OperationsScreen(self.home.operations, self.home.profile.url))

    def log_changed(self) -> None:
        for screen in self.home.app.screen_stack:
            if isinstance(screen, OperationsScreen):
                screen.draw()

    def show_help(self) -> None:
        text = partial(reading.help_text, list(self.home.active_bindings.values()), self.home.app.get_key_display)
        self.home.app.push_screen(reading.Reading("help", text))

    # Leaving

    @property
    def losses(self) -> list[str]:
        """What quitting now would lose, one line each: running requests and edited texts."""
        running = [one for one in self.home.operations.open if one.phase is Phase.REQUESTED]
        return [
            *(f"under way, would be cut off: {one.title}" for one in running),
            *program.of(self.home).unsaved,
        ]

    def quit(self) -> None:
        """Asks when something would be lost."""
        if lines := self.losses:
            self.home.do(self._quit(self.put(Dialog("quit?", reading.plain("\n".join(lines)), "quit"))))
        else:
            self.home.app.exit(0)

    async def _quit(self, answer: Future[bool]) -> None:
        if await self.agreed(answer, "quit"):
            self.home.app.exit(0)

    async def close(self) -> None:
        await self.cluster.close()
