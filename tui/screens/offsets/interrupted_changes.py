"""Changes of offsets that were interrupted, by this console or an earlier one: the question and the ways out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label

from tui.cluster.snapshot import LinkState
from tui.errors import HeadraceError, error_line
from tui.formatting import format_duration
from tui.offsets import partitions
from tui.offsets.pending_changes import ChangeStep, PendingChange
from tui.offsets.plan import OffsetsNotApplied
from tui.offsets.recovery import Recovered, Recovery
from tui.offsets.retry import is_outage
from tui.screens.base.pop_up import Question
from tui.screens.offsets import wording
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.pager import Pager
from tui.widgets.text import visible

CONNECT_TIMEOUT = 60.0  # seconds to wait for the cluster at start; after that, the question waits for the next start
RETRY_DELAY = 2.0  # seconds between a choice that failed for an outage and the next question
PROGRESS = {
    ChangeStep.STOPPING: "no offset was altered yet",
    ChangeStep.ALTERING: "some or all offsets may be altered already",
    ChangeStep.RESUMING: "the offsets are altered; the connector was not resumed",
}


class InterruptedDialog(Question[str]):
    """Returns `finish`, `back`, `forget`, or an empty text for later."""

    DEFAULT_CSS = """
    InterruptedDialog > Vertical { width: 76; max-width: 96%; height: auto; max-height: 92%; border: round $warning; }
    InterruptedDialog #title { color: $warning; }
    InterruptedDialog Pager { height: auto; max-height: 60vh; margin: 1 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "choose('finish')", "finish"),
        Binding("b", "choose('back')", "roll back"),
        Binding("x", "choose('forget')", "leave as is"),
        Binding("escape,ctrl+c", "choose('')", "later", key_display="esc"),
    ]

    def __init__(self, intent: PendingChange, state: str) -> None:
        super().__init__()
        self.intent, self.state = intent, state

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(f"a change of {self.intent.plan.name} was interrupted")), id="title")
        yield Pager(described(self.intent, self.state))

    def on_mount(self) -> None:
        self.query_one(Pager).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose" or self.armed

    def action_choose(self, choice: str) -> None:
        self.dismiss(choice)


def described(intent: PendingChange, state: str) -> Content:
    """Who started the change, how far it got, and the offsets concerned. `state`: of the connector now."""
    plan, ago = intent.plan, format_duration(time.time() - intent.time / 1000)
    who = f" by {intent.who}" if intent.who else ""
    why = f": {plan.why}" if plan.why else ""
    is_resumed = intent.step is ChangeStep.ALTERING and state != "STOPPED"
    resumed = f"It is {state} now, as someone has resumed it: the change can only be left as it is.\n\n"
    return Content.assemble(
        visible(f"{plan.action.value} of its offsets, started {ago} ago{who}{why}"),
        "\nIt was interrupted while ",
        (intent.step.value, "bold"),
        f": {PROGRESS[intent.step]}. The connector was {plan.state} before.\n\n",
        (visible(resumed), "bold $warning") if is_resumed else "",
        wording.diff(plan.changes, 20),
        "\n\nBefore sending, checks whether anyone has changed the offsets since.",
    )


class InterruptedChanges:
    """Finds interrupted changes and settles each; `ask` shows the question and returns the response, `settled` is
    called with the connector of each change that is settled."""

    def __init__(
        self,
        services: ClusterServices,
        ask: Callable[[PendingChange], Awaitable[str]],
        settled: Callable[[str], None],
    ) -> None:
        self._services, self._ask, self._settled = services, ask, settled

    def pending(self) -> list[PendingChange]:
        """Unfinished changes of this cluster that were started on this machine and that no process carries out."""
        return self._services.context().cluster.change_store.pending.interrupted()

    async def offer_all(self) -> None:
        """At start: asks about each unfinished change as soon as the cluster responds."""
        pending = self.pending()
        if not pending or self._services.profile.read_only:
            return
        if not await self._is_back(CONNECT_TIMEOUT):
            return
        for intent in pending:
            if not await self._settle(intent):
                await self.offer(intent.plan.name)

    async def offer(self, name: str) -> None:
        """Asks about this connector's change when the cluster responds, and again after each further outage."""
        while await self._is_back():
            intent = next((pending for pending in self.pending() if pending.plan.name == name), None)
            if intent is None or await self._settle(intent):  # None: settled meanwhile, or being settled
                return
            self._services.connection.store.refresh()
            await asyncio.sleep(RETRY_DELAY)

    async def _is_back(self, within: float = inf) -> bool:
        """Waits until the cluster responds. The link alone may not have noticed an outage that a change has met."""
        deadline = time.monotonic() + within
        while True:
            while self._services.snapshot.link.state not in (LinkState.LIVE, LinkState.POLLING):
                if time.monotonic() > deadline:
                    return False
                await asyncio.sleep(0.1)
            try:
                await self._services.connect.root()
            except HeadraceError as error:
                if is_outage(error):
                    await asyncio.sleep(RETRY_DELAY)
                    continue
            return True

    async def _settle(self, intent: PendingChange) -> bool:
        """Asks and acts. False if the cluster stopped responding, so that the question has to be asked again."""
        name = intent.plan.name
        if name not in self._services.snapshot.connectors:  # deleted since: nothing remains to be done
            await Recovery(self._services.connect, self._services.context().cluster.change_store).forget(name)
            return True
        if choice := await self._ask(intent):
            return await self._carry_out(name, choice)
        self._services.report(f"later: `:finish {name}` continues the change", "warn")
        return True

    async def _carry_out(self, name: str, choice: str) -> bool:
        """False if the change remains unfinished because the cluster does not respond."""
        services = self._services
        line = f"finish {name}" + {"finish": "", "back": " --back", "forget": " --forget"}[choice]
        try:
            async with services.tracked("finish offsets", name, (line,)) as (operation, connect):
                context = services.context(connect)
                recovery = Recovery(
                    connect,
                    context.cluster.change_store,
                    lambda step: services.operations.note(operation, step),
                    context.clock,
                )
                acts = {"finish": recovery.finish, "back": recovery.roll_back, "forget": recovery.forget}
                done = await acts[choice](name)
                services.operations.done(operation, _result(done))
        except HeadraceError as error:
            services.report(error_line(error), "bad")
            return not (is_outage(error) or (isinstance(error, OffsetsNotApplied) and error.unfinished))
        self._settled(name)
        services.report(f"{name}: {_result(done)}", "warn" if done.left_stopped else "good")
        return True


def _result(done: Recovered) -> str:
    state = "; it remains STOPPED" if done.left_stopped else ""
    by_hand = partitions.by_hand(done.verdict)
    return f"{done.message}{f' ({by_hand})' if by_hand else ''}{state}"
