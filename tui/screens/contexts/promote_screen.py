"""Promotion to another context: mapped values, edits, the plan, and the outcome for each connector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.connectors.plan import CREATE, KEEP, UPDATE
from tui.commands.connectors.promotion_steps import STATES
from tui.config import promotion
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, Unreachable, error_line
from tui.formatting import counted, one_line
from tui.screens.base.dialog import Dialog
from tui.screens.base.navigation import OpenCluster
from tui.screens.base.split_page import SplitPage
from tui.screens.config import wording
from tui.screens.config.values_editor import ValuesEditor
from tui.screens.contexts.promotion import NOT_TRIED, REFUSED, Promotion, clashes
from tui.screens.services.cluster_services import ClusterServices
from tui.scrubbing import scrubbed_line
from tui.widgets.columns import Column
from tui.widgets.grid import Cell
from tui.widgets.text import visible

INKS = {REFUSED: "grid--error", CREATE: "grid--success", UPDATE: "grid--warning"}
EFFECT = {
    "STOPPED": "New connectors are created STOPPED: set their offsets there, then resume them.",
    "PAUSED": "New connectors are created PAUSED: they process no records until they are resumed.",
    "RUNNING": "New connectors start at once, without the offsets of this cluster.",
}


class PromoteScreen(SplitPage):
    """Plans at once, with nothing sent but validations. A promotion that was started continues if the page is left."""

    DEFAULT_CSS = """
    PromoteScreen #list { height: auto; min-height: 3; max-height: 40%; }
    """
    COLUMNS = (
        Column("name", "CONNECTOR", 22, grows=True, middle=True),
        Column("there", "THERE", 16, rank=1, grows=True, middle=True),
        Column("action", "PLAN", 9),
        Column("text", "CHANGES", 24, grows=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("greater_than_sign", "promote", "promote", key_display=">", tooltip="carry out the plan; asks first"),
        Binding("e", "edit", "edit values", tooltip="edit the config and the name of this connector there"),
        Binding("s", "state", "initial state", tooltip="the state of new connectors: STOPPED, PAUSED or RUNNING"),
        Binding("x", "leave_out", "leave out", tooltip="do not promote this connector"),
        Binding("o", "open_other", "open cluster", tooltip="show the other cluster"),
        Binding("tab,shift+tab", "switch", "list or plan", show=False),
        Binding("f5,ctrl+l", "reload", "plan again", key_display="F5"),
    ]

    def __init__(self, services: ClusterServices, other: Profile, names: Sequence[str]) -> None:
        super().__init__(services)
        self.other, self.names = other, list(names)
        self.promotions: dict[str, Promotion] = {}
        self.state = STATES[0]
        self._is_planned = self._busy = False

    @property
    def current(self) -> Promotion | None:
        return self.promotions.get(self.grid.current or "")

    def on_mount(self) -> None:
        self.grid.empty = "planning…"
        self.grid.focus()
        self.draw()
        self.action_reload()

    # Planning

    def action_reload(self) -> None:
        """Reads the connectors again and plans all steps; edits are kept."""
        if not self._busy:
            self._is_planned = False
            self.run_worker(self._plan(), exclusive=True, exit_on_error=False)

    async def _plan(self) -> None:
        self.say("planning", "busy")
        try:
            await self._read()
            async with self.services.context().dialled(self.other) as other:
                await self._plan_steps(other)
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.say(error_line(error), "bad")
        else:
            self.grid.empty = "all connectors are left out"
            self._advise()
        self.draw()

    async def _read(self) -> None:
        mapping = promotion.load(self.services.context().profiles.path.parent, self.other.name)
        for name in self.names:
            source = await self.services.connect.config(name)
            one = self.promotions.setdefault(name, Promotion(name, source, {}))
            one.source, one.mapped = source, mapping.config(source, mapping.name(name))
            one.passwords = await self.services.password_keys.of(source)

    async def _plan_steps(self, other: Connect) -> None:
        some, keys = list(self.promotions.values()), PasswordKeys(other.plugin_config)
        why = clashes(some)
        for number, one in enumerate(some, 1):
            self.say(f"validating {one.name}, {number} of {len(some)}", "busy")
            await one.plan(other, self.other.label, keys)
            one.problem = why.get(one.name) or one.problem
            self.draw()
        self._is_planned = True

    def _advise(self) -> None:
        """The next step, after planning."""
        some = self.promotions.values()
        refused = [one for one in some if one.problem]
        if not some:
            self.say("no connector is left to promote: esc goes back")
        elif not self._is_planned:
            self.say("the plan is incomplete: F5 plans again", "warn")
        elif refused:
            why = f"{refused[0].name}: {refused[0].problem}"
            self.say(f"{why}; nothing can be promoted until it is fixed (e edits it) or left out (x)", "bad")
        elif not any(one.pending for one in some):
            self.say(f"{self.other.label} has all of these values already: nothing to promote", "good")
        else:
            self.say(f"> promotes: {self.summary}. Offsets are not copied.")

    @property
    def is_ready(self) -> bool:
        """Whether the plan is complete, no connector is refused, and there is something to do."""
        some = self.promotions.values()
        return self._is_planned and not any(one.problem for one in some) and any(one.pending for one in some)

    @property
    def summary(self) -> str:
        counts = Counter(one.word for one in self.promotions.values())
        parts = [
            f"{counts[CREATE]} to create {self.state}" if counts[CREATE] else "",
            f"{counts[UPDATE]} to update" if counts[UPDATE] else "",
            f"{counts[KEEP]} unchanged" if counts[KEEP] else "",
            f"{counts[REFUSED]} refused" if counts[REFUSED] else "",
        ]
        return ", ".join(part for part in parts if part)

    # Display

    def draw(self) -> None:
        if not self.is_attached:
            return  # left while a promotion was running
        some = self.promotions.values()
        widths = {
            "name": max((len(one.name) for one in some), default=0),
            "there": max((len(one.there) for one in some), default=0),
            "text": max((len(one.text) for one in some), default=0),
        }
        self.grid.show(list(self.promotions), self._cells, widths)
        ink = "bold $error" if self.other.production else "bold"
        where = (visible(self.other.label) + (" PRODUCTION" if self.other.production else ""), ink)
        self.head(("promote", "bold $accent"), " to ", where, "  from", end=self.summary)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        one = self.promotions[key]
        word = one.word
        there = Cell(one.there, "grid--muted" if one.there == one.name else "grid--strong")
        return {
            "name": Cell(one.name),
            "there": there,
            "action": Cell(word, INKS.get(word, "grid--muted")),
            "text": Cell(one.text, _ink(one)),
        }

    def show_current(self) -> None:
        one = self.current
        self.pager.put(Content("") if one is None else self._explained(one), top=True)

    def _explained(self, one: Promotion) -> Content:
        here, there = visible(self.services.profile.label), visible(self.other.label)
        parts: list[str | Content | tuple[str, str]] = [
            (f"{visible(one.name)} → {visible(one.there)}\n", "bold $accent")
        ]
        if one.outcome:
            parts.append((f"{visible(one.outcome)}\n", "$error" if one.failed else "$success"))
        if one.problem:
            parts.append((f"{visible(one.problem)}\n", "$error"))
        parts.append((f"\nvalues that differ from {here}\n", "bold"))
        mapped = [change for change in one.rewritten if change.key not in one.edits]
        edited = [change for change in one.rewritten if change.key in one.edits]
        if mapped:
            parts += [
                (f"by [promote.{there}] of config.toml\n", "$text-muted"),
                wording.diff(mapped, one.passwords),
                "\n",
            ]
        if edited:
            parts += [("edited\n", "$text-muted"), wording.diff(edited, one.passwords), "\n"]
        if not one.rewritten:
            none = f"none: no mapping in [promote.{there}] of config.toml applies; e edits values\n"
            parts.append((none, "$text-muted"))
        if one.step is not None:
            what = {CREATE: f"\nnew in {there}, {self.state}\n", UPDATE: f"\nchanges in {there}\n"}
            parts.append((what.get(one.step.action, f"\n{there} has these values already\n"), "bold"))
            parts += [wording.diff(one.step.changes, one.passwords), "\n"]
        return Content.assemble(*parts)

    # Keys

    def allows(self, action: str) -> bool:
        if action in ("promote", "edit", "state", "reload", "leave_out"):
            return not self._busy and bool(self.promotions)
        return True

    def is_idle(self, action: str) -> bool:
        return self.other.read_only and action == "promote"

    def action_state(self) -> None:
        self.state = STATES[(STATES.index(self.state) + 1) % len(STATES)]
        self.say(EFFECT[self.state])
        self.draw()

    def action_leave_out(self) -> None:
        if (name := self.grid.current) is not None:
            del self.promotions[name]
            self.names.remove(name)
            self.draw()  # before any event draws a row of the old list
            self.action_reload()

    def action_open_other(self) -> None:
        self.post_message(OpenCluster(self.other))

    def action_edit(self) -> None:
        if (one := self.current) is not None:
            self.run_worker(self._edit(one), exit_on_error=False)

    async def _edit(self, one: Promotion) -> None:
        editor = ValuesEditor(f"{one.name} in {self.other.label}", one.config, one.passwords)
        found = await self.app.push_screen_wait(editor)
        if found is not None:
            one.edit(found)
            self.action_reload()

    def action_promote(self) -> None:
        if why := policy.refusal(self.other, "promote"):
            self.say(why, "bad")
        elif not self.is_ready:
            self._advise()
        else:
            self.run_worker(self._ask(), exit_on_error=False)

    async def _ask(self) -> None:
        some = [one for one in self.promotions.values() if one.pending]
        names = "\n".join(f"{one.word} {visible(one.there)}" for one in some)
        effect = EFFECT[self.state] if any(one.word == CREATE for one in some) else ""
        rest = "Offsets are not copied. If one connector fails, the others are still promoted; > tries the rest again."
        body = Content.assemble(names, "\n\n", (" ".join(part for part in (effect, rest) if part), "$text-muted"))
        title = f"promote {counted(len(some), 'connector')} to {self.other.label}?"
        name = str(len(some)) if len(some) > 1 else ""
        title += f" type {name} to continue" if name else ""
        if await self.app.push_screen_wait(Dialog(title, body, "promote", name=name, danger=self.other.production)):
            self._busy = True
            self.services.do(self._promote(some))
        else:
            self.say("cancelled: promote")

    # The promotion itself

    async def _promote(self, some: list[Promotion]) -> None:
        """One connector after the other; then plans again, so that the rest remains. An unreachable cluster ends it."""
        down = self._is_planned = False
        for one in some:
            one.outcome, one.failed = "", False
        try:
            async with self.services.context().dialled(self.other) as other:
                for number, one in enumerate(some, 1):
                    self.say(f"promoting {one.name}, {number} of {len(some)}", "busy")
                    if down:
                        one.outcome, one.failed = NOT_TRIED, True
                    else:
                        down = await self._try(one, other)
                if not down:
                    await self._plan_steps(other)
        except HeadraceError as error:  # of connecting, before any connector was tried, or of planning again
            for one in some:
                if not one.outcome:
                    one.outcome, one.failed = error_line(error), True
        finally:
            self._busy = False
        self._finish(some)
        self.draw()

    async def _try(self, one: Promotion, other: Connect) -> bool:
        """Promotes one connector as a logged operation. Returns whether the other cluster is unreachable."""
        down = False
        operations = self.services.operations
        line = scrubbed_line(one.script_line(self.other.name, self.state))
        operation = operations.begin(f"promote to {self.other.label}:", one.name, lines=(line,), doing="promoting")
        one.is_running = True
        self.draw()
        try:
            outcome = await one.run(other, self.other.label, self.state)
        except HeadraceError as error:
            one.outcome, one.failed, down = error_line(error), True, isinstance(error, Unreachable)
            operations.failed(operation, one.outcome)
        else:
            one.outcome, one.failed = outcome.message, False
            operations.done(operation, outcome.message)
        finally:
            one.is_running = False
        return down

    def _finish(self, some: list[Promotion]) -> None:
        failed = [one for one in some if one.failed]
        done = len(some) - len(failed)
        if failed:
            again = "> tries" if self._is_planned else "F5 plans"
            rest = f"{done} of {len(some)} promoted and kept; {again} the other {len(failed)} again, e edits values"
            self.say(f"{failed[0].name}: {failed[0].outcome.rstrip('.')}. {rest}", "bad")
        else:
            self.say(f"{counted(done, 'connector')} promoted; o opens {self.other.label}", "good")


def _ink(one: Promotion) -> str:
    if one.outcome and not one.failed:
        return "grid--success"
    return "grid--error" if one.problem or one.failed else ""
