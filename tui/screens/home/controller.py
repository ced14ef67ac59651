"""Actions of several steps: question, request, result. Imported after the first paint."""

from __future__ import annotations

from asyncio import Future, get_running_loop, timeout, to_thread
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from textual.content import Content

from tui.commands.base import Command, Danger
from tui.commands.result import Result
from tui.commands.targets import pinned
from tui.errors import HeadraceError, error_line
from tui.formatting import counted
from tui.goals import described
from tui.model import Connector
from tui.offsets.pending_changes import PendingChange
from tui.screens.base import program, reading
from tui.screens.base.dialog import Dialog
from tui.screens.home.base import HomeBase
from tui.screens.offsets.interrupted_changes import InterruptedChanges, InterruptedDialog
from tui.screens.operations.actions import ACTIONS, ConnectorAction, restart_of
from tui.screens.operations.bulk import BulkOperation
from tui.screens.operations.operation_runner import OperationRunner, summary
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.host import REFUSAL
from tui.screens.services.operations import Phase
from tui.script.grammar import parse
from tui.scrubbing import scrubbed_line

MOMENT = 1.0  # seconds without a response after which the status line says so
RESULT_DELAY = 60.0  # seconds that a result page waits for a line being typed


class HomeController:
    """Carries out keys and commands of the main screen. `prompt_closed` waits until nothing is being typed."""

    def __init__(self, home: HomeBase, services: ClusterServices, prompt_closed: Callable[[], Awaitable[None]]) -> None:
        self.home, self.services, self._prompt_closed = home, services, prompt_closed
        self.runner = OperationRunner(services.connection, home.operations, self._report)
        self.interrupted = InterruptedChanges(services, self._ask_about, self._settled)
        self.bulk_operations: list[BulkOperation] = []  # of this session

    async def _ask_about(self, intent: PendingChange) -> str:
        now = self.home.snapshot_of(intent.plan.name)
        return await self.home.app.push_screen_wait(InterruptedDialog(intent, now.state if now else ""))

    def _settled(self, name: str) -> None:
        self.home.view.offsets.settled(name)

    def put(self, dialog: Dialog) -> Future[bool]:
        """Shows the question at once, so that keys already typed reach the question and not the list."""
        answer: Future[bool] = get_running_loop().create_future()
        self.home.app.push_screen(dialog, lambda yes: None if answer.done() else answer.set_result(bool(yes)))
        return answer

    async def agreed(self, answer: Future[bool], title: str) -> bool:
        """Whether the answer is yes; if not, reports that `title` was not done."""
        if await answer:
            return True
        self.home.report(f"cancelled: {title}")
        return False

    def _report(self, text: str, kind: str) -> None:
        """Shows a text about a command, such as its refusal."""
        self.home.report(text, kind, REFUSAL if kind == "bad" else "")

    # Keys for one connector

    def act(self, name: str, connector: Connector) -> None:
        """Applies the verb of a key, such as `stop`, to one connector."""
        self._ask(ACTIONS[name], connector)

    def restart_task(self, task: int, connector: Connector) -> None:
        """Restarts one task of a connector."""
        self._ask(restart_of(task), connector)

    def _ask(self, action: ConnectorAction, connector: Connector) -> None:
        if running := self.home.operations.pending(connector.name):
            self.home.report(f"{running.title} is still under way", "warn")
        elif why := action.needs(connector):
            self.home.report(why)
        elif self.home.may_send(change=True) and not self.home.is_refused(action.name):
            dialog = self._question(action, connector) if action.danger else None
            self.home.do(self._act(action, connector, dialog, None if dialog is None else self.put(dialog)))

    async def _act(
        self, action: ConnectorAction, connector: Connector, dialog: Dialog | None, answer: Future[bool] | None
    ) -> None:
        if dialog is not None and answer is not None:
            if not await self.agreed(answer, f"{action.name} {action.target(connector)}"):
                return
            action = action.with_option(dialog.has_option)
        now = self.home.snapshot_of(connector.name)
        if now is None:
            self.home.report(f"{connector.name} was deleted meanwhile", "warn")
        elif why := action.outdated(connector, now):
            self.home.report(f"not sent: {why}", "warn")
        elif self.home.may_send(change=True):
            await self.runner.act(action, now)
            if action.with_offsets:
                self._offer_interrupted({now.name})

    def _question(self, action: ConnectorAction, connector: Connector) -> Dialog:
        profile = self.home.profile
        facts = f"{described(connector)}, {connector.type}"
        body = Content.assemble(" ".join((action.effect, action.otherwise)).strip(), "\n\n", (facts, "$text-muted"))
        where = f" on {profile.label}" if profile.production else ""
        name = connector.name if action.danger is Danger.NAME else ""
        return Dialog(
            f"{action.name} {action.target(connector)}{where}?", body, action.name, name=name,
            danger=profile.production, option=action.option,
        )  # fmt: skip

    # Commands

    def typed(self, line: str) -> None:
        """Runs a command; the grammar is that of scripts."""
        try:
            command = parse(line)
        except HeadraceError as error:
            self._report(error_line(error), "bad")
            return
        if command is None:
            return
        line = scrubbed_line(line, settings=True)  # it is shown, logged and copied
        sends = command.changes and not command.values.get("dry_run")
        if not (sends and self.home.is_refused(command.verb)) and self.home.may_send(command.changes):
            self.home.do(self._run(command, line))

    async def _run(self, command: Command, line: str) -> None:
        plan = None
        if command.danger and not command.values.get("dry_run"):  # --yes is for scripts
            if (shown := await self._confirmed(command, line)) is None:
                return
            command, plan = pinned(command, shown), shown.plan
        if command.changes:
            result = await self.runner.run(command, line, plan)
        else:
            with self._waiting(line):
                result = await self.runner.run(command, line, plan)
        if not command.changes:  # a change is an operation, which reports its own result
            self.home.settle()
        if result is not None:
            await self._show(command, line, result)
            self._offer_interrupted({outcome.name for outcome in result.outcomes if outcome.failed})

    @contextmanager
    def _waiting(self, line: str) -> Iterator[None]:
        """Shows that a typed command waits for a response, if it does so for longer than a moment."""
        text = f"{line}: waiting for a response"
        timer = self.home.set_timer(MOMENT, lambda: self.home.report(text, "busy"))
        try:
            yield
        finally:
            timer.stop()
            self.home.clear_report(text)

    async def _confirmed(self, command: Command, line: str) -> Result | None:
        """The dry run that the user has confirmed, None without a confirmation. Asks again if the plan has changed."""
        with self._waiting(line):
            shown = await self.runner.preview(command)
        while shown is not None and await self.agreed(self.put(_typed_question(command, line, shown)), line):
            before, shown = shown, await self.runner.preview(command) if command.has_plan else shown
            if shown == before:
                return shown
            if shown is not None:
                self.home.report("the plan has changed since the question, for example by another user", "warn")
        return None

    def _offer_interrupted(self, failed: set[str]) -> None:
        """Asks about changes of offsets that the command left unfinished, once the cluster responds again."""
        for name in failed and failed & {intent.plan.name for intent in self.interrupted.pending()}:
            self.home.do(self.interrupted.offer(name))

    async def tell_left_behind(self) -> None:
        """Names the edited texts of consoles that have ended."""
        with suppress(HeadraceError):
            if left := await to_thread(self.services.texts.left_behind):
                texts = ", ".join(f"{text.kind} of {text.name}" for text in left)
                text = f"not applied when a console ended: {texts}; the editor has the text"
                self.home.report(text, "warn")

    async def _show(self, command: Command, line: str, result: Result) -> None:
        form = command.values.get("output") or ""
        if not result.is_confirmation and not (form or result.table or result.text):
            return  # for example written to a file, which was reported already
        if not result.is_confirmation:
            await self._open(reading.page(line, result, form))
        elif len(result.outcomes) > 1:
            await self._open(reading.page(line, result))
        elif command.local or not command.changes:  # no operation reports it
            self.home.report(summary(result.outcomes), "bad" if result.exit_code else "good")

    async def _open(self, page: reading.Reading) -> None:
        """Opens a page of results, after the line that is being typed is finished."""
        with suppress(TimeoutError):
            async with timeout(RESULT_DELAY):
                await self._prompt_closed()
        self.home.app.push_screen(page)

    def show_help(self) -> None:
        text = partial(reading.help_text, list(self.home.active_bindings.values()), self.home.app.get_key_display)
        self.home.app.push_screen(reading.Reading("help", text))

    # Leaving

    @property
    def losses(self) -> list[str]:
        """Everything that quitting now would lose, one line each: requests under way and edited texts."""
        running = [operation for operation in self.home.operations.open if operation.phase is Phase.REQUESTED]
        return [
            *(f"under way, would be interrupted: {operation.title}" for operation in running),
            *(
                f"not sent yet, would not be sent: {bulk.action.name} {counted(bulk.waiting, bulk.noun)}"
                for bulk in self.bulk_operations
                if bulk.waiting
            ),
            *program.of(self.home).unsaved,
        ]

    def quit(self) -> None:
        """Asks first if something would be lost."""
        if lines := self.losses:
            self.home.do(self._quit(self.put(Dialog("quit?", reading.plain("\n".join(lines)), "quit"))))
        else:
            self._leave()

    async def _quit(self, answer: Future[bool]) -> None:
        if await self.agreed(answer, "quit"):
            self._leave()

    def _leave(self) -> None:
        program.of(self.home).discard_texts()
        self.home.app.exit(0)


def _typed_question(command: Command, line: str, shown: Result) -> Dialog:
    """The question with all targets of the dry run; if there are several, their number has to be typed."""
    count = len({outcome.name for outcome in shown.outcomes})
    if count > 1:
        title, name = f"{line}: {count} {command.noun}s; type {count} to continue", str(count)
    else:
        named = command.danger is Danger.NAME and shown.outcomes
        title, name = line, shown.outcomes[0].name if named else ""
    return Dialog(title, reading.of_result(shown, wide=False), command.verb.split()[0], name=name)
