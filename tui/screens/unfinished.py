"""A change that an earlier console did not bring to its end: what it was, and the ways out of it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label

from tui.errors import HeadraceError
from tui.offsets.intents import Intent, Step
from tui.offsets.recovery import Recovered, Recovery
from tui.screens import wording
from tui.screens.desk import Desk
from tui.screens.dialog import UNSEEN
from tui.snapshot import LinkState
from tui.widgets.bars import KeyBar
from tui.widgets.pager import Pager
from tui.widgets.text import span, visible

if TYPE_CHECKING:
    from tui.screens.home import Home

ANSWERS_WITHIN = 60.0  # seconds for the cluster to be there, before the question waits for the next start
MEANS = {
    Step.STOPPING: "nothing was altered yet",
    Step.ALTERING: "the offsets may be altered already, all of them or some",
    Step.RESUMING: "the offsets are altered; the connector was not set going again",
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

    def __init__(self, intent: Intent) -> None:
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


def described(intent: Intent) -> Content:
    plan, ago = intent.plan, span(time.time() - intent.time / 1000)
    who = f" by {intent.who}" if intent.who else ""
    why = f": {plan.why}" if plan.why else ""
    return Content.assemble(
        visible(f"{plan.action.value} of its offsets, begun {ago} ago{who}{why}"),
        "\nThe console ended while ",
        (intent.step.value, "bold"),
        f": {MEANS[intent.step]}. The connector was {plan.state} before.\n\n",
        wording.diff(plan.changes, 20),
        "\n\nBefore anything is sent, it is looked whether somebody changed it since.",
    )


async def offer(home: Home, desk: Desk) -> None:
    """Asks for each change that is left, as soon as the cluster is there."""
    notebook = desk.cluster.context(desk.connect, lambda text: None).notebook
    left = notebook.intents.interrupted()
    if not left or desk.profile.read_only:
        return
    deadline = time.monotonic() + ANSWERS_WITHIN
    while home.snapshot.link.state not in (LinkState.LIVE, LinkState.POLLING):
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(0.1)
    for intent in left:
        if intent.plan.name not in home.snapshot.connectors:  # deleted since: nothing is left to do
            await Recovery(desk.connect, notebook).forget(intent.plan.name)
            continue
        choice = await home.app.push_screen_wait(Unfinished(intent))
        if choice:
            await _settle(desk, intent, choice)
        else:
            desk.say(f"later: `:finish {intent.plan.name}` goes on with it", "warn")


async def _settle(desk: Desk, intent: Intent, choice: str) -> None:
    name = intent.plan.name
    line = f"finish {name}" + {"finish": "", "back": " --back", "forget": " --forget"}[choice]
    try:
        async with desk.tracked("finish offsets", name, (line,)) as (operation, connect):
            context = desk.cluster.context(connect, lambda text: None)
            recovery = Recovery(connect, context.notebook, lambda step: desk.operations.note(operation, step))
            acts = {"finish": recovery.finish, "back": recovery.take_back, "forget": recovery.forget}
            done = await acts[choice](name)
            desk.operations.done(operation, _said(done))
    except HeadraceError as error:
        desk.say(" ".join(str(error).split()), "bad")
    else:
        desk.say(f"{name}: {_said(done)}", "warn" if done.left_stopped else "good")


def _said(done: Recovered) -> str:
    left = "; it is left STOPPED" if done.left_stopped else ""
    by_hand = f" ({done.verdict.by_hand})" if done.verdict is not None and done.verdict.by_hand else ""
    return f"{done.message}{by_hand}{left}"
