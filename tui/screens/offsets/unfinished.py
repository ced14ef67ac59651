"""A change that this console or an earlier one did not bring to its end: what it was, and the ways out of it."""

from __future__ import annotations

import asyncio
import time
from math import inf
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label

from tui.cluster.snapshot import LinkState
from tui.errors import HeadraceError, error_line
from tui.formatting import span
from tui.offsets.pending_changes import ChangeStep, PendingChange
from tui.offsets.plan import OffsetsNotApplied
from tui.offsets.recovery import Recovered, Recovery
from tui.offsets.retry import is_outage
from tui.screens.base.cluster_services import Desk
from tui.screens.base.dialog import UNSEEN
from tui.screens.offsets import wording
from tui.widgets.bars import KeyBar
from tui.widgets.pager import Pager
from tui.widgets.text import visible

if TYPE_CHECKING:
    from tui.screens.home import Home

ANSWERS_WITHIN = 60.0  # seconds for the cluster to be there, before the question waits for the next start
AGAIN = 2.0  # seconds after a choice that did not reach it, until it is asked for again
MEANS = {
    ChangeStep.STOPPING: "nothing was altered yet",
    ChangeStep.ALTERING: "the offsets may be altered already, all of them or some",
    ChangeStep.RESUMING: "the offsets are altered; the connector was not set going again",
}


class Unfinished(ModalScreen[str]):
    """`finish`, `back`, `forget`, or nothing: later."""

    DEFAULT_CSS = """
    Unfinished { align: center middle; background: $background 60%; }
    Unfinished > Vertical { width: 76; max-width: 96%; height: auto; max-height: 92%; background: $panel;
        border: round $warning; padding: 0 1; }
    Unfinished #title { text-style: bold; color: $warning; width: 1fr; }
    Unfinished Pager { height: auto; max-height: 60vh; background: $panel; padding: 0; margin: 1 0; }
    Unfinished KeyBar { background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "choose('finish')", "finish it"),
        Binding("b", "choose('back')", "take it back"),
        Binding("x", "choose('forget')", "leave it so"),
        Binding("escape,ctrl+c", "choose('')", "later", key_display="esc"),
    ]

    def __init__(self, intent: PendingChange) -> None:
        super().__init__()
        self.intent, self.armed = intent, False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Content(visible(f"a change of {self.intent.plan.name} was interrupted")), id="title")
            yield Pager(described(self.intent))
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Pager).focus()
        self.set_timer(UNSEEN, self.arm)

    def arm(self) -> None:
        """From now on keys count."""
        self.armed = True
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose" or self.armed

    def action_choose(self, what: str) -> None:
        self.dismiss(what)


def described(intent: PendingChange) -> Content:
    plan, ago = intent.plan, span(time.time() - intent.time / 1000)
    who = f" by {intent.who}" if intent.who else ""
    why = f": {plan.why}" if plan.why else ""
    return Content.assemble(
        visible(f"{plan.action.value} of its offsets, begun {ago} ago{who}{why}"),
        "\nIt was interrupted while ",
        (intent.step.value, "bold"),
        f": {MEANS[intent.step]}. The connector was {plan.state} before.\n\n",
        wording.diff(plan.changes, 20),
        "\n\nBefore anything is sent, it is looked whether somebody changed it since.",
    )


def interrupted(desk: Desk) -> list[PendingChange]:
    """Changes that this machine has begun on the cluster, and nobody carries out now."""
    return desk.cluster.context(desk.connect, lambda text: None).change_store.pending.interrupted()


async def offer(home: Home, desk: Desk) -> None:
    """Asks for each change that is left, as soon as the cluster is there."""
    left = interrupted(desk)
    if not left or desk.profile.read_only:
        return
    if not await _is_back(home, ANSWERS_WITHIN):
        return
    for intent in left:
        if not await _asked(home, desk, intent):
            await offer_when_back(home, desk, intent.plan.name)


async def offer_when_back(home: Home, desk: Desk, name: str) -> None:
    """Asks for the change of this connector when the cluster answers, and again when it went away over the answer."""
    while await _is_back(home):
        intent = next((one for one in interrupted(desk) if one.plan.name == name), None)
        if intent is None or await _asked(home, desk, intent):  # None: settled meanwhile, or being settled
            return
        desk.cluster.store.refresh()
        await asyncio.sleep(AGAIN)


async def _is_back(home: Home, within: float = inf) -> bool:
    deadline = time.monotonic() + within
    while home.snapshot.link.state not in (LinkState.LIVE, LinkState.POLLING):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.1)
    return True


async def _asked(home: Home, desk: Desk, intent: PendingChange) -> bool:
    """False when it is to be asked again: the cluster went away once more."""
    name = intent.plan.name
    if name not in home.snapshot.connectors:  # deleted since: nothing is left to do
        change_store = desk.cluster.context(desk.connect, lambda text: None).change_store
        await Recovery(desk.connect, change_store).forget(name)
        return True
    choice = await home.app.push_screen_wait(Unfinished(intent))
    if choice:
        return await _settled(desk, intent, choice)
    desk.say(f"later: `:finish {name}` goes on with it", "warn")
    return True


async def _settled(desk: Desk, intent: PendingChange, choice: str) -> bool:
    """False when it is left as it is, because the cluster does not answer."""
    name = intent.plan.name
    line = f"finish {name}" + {"finish": "", "back": " --back", "forget": " --forget"}[choice]
    try:
        async with desk.tracked("finish offsets", name, (line,)) as (operation, connect):
            context = desk.cluster.context(connect, lambda text: None)
            recovery = Recovery(connect, context.change_store, lambda step: desk.operations.note(operation, step))
            acts = {"finish": recovery.finish, "back": recovery.roll_back, "forget": recovery.forget}
            done = await acts[choice](name)
            desk.operations.done(operation, _said(done))
    except HeadraceError as error:
        desk.say(error_line(error), "bad")
        return not (is_outage(error) or (isinstance(error, OffsetsNotApplied) and error.unfinished))
    desk.say(f"{name}: {_said(done)}", "warn" if done.left_stopped else "good")
    return True


def _said(done: Recovered) -> str:
    left = "; it is left STOPPED" if done.left_stopped else ""
    by_hand = f" ({done.verdict.by_hand})" if done.verdict is not None and done.verdict.by_hand else ""
    return f"{done.message}{by_hand}{left}"
