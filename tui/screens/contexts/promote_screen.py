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
from tui.commands.result import TargetOutcome, confirmation
from tui.commands.settling import Goal, settled, usual_settling
from tui.config.creating import new_state
from tui.config.promotion import load
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, cluster_is_down, error_line
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

STYLES = {REFUSED: "grid--error", CREATE: "grid--success", UPDATE: "grid--warning"}
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
        self.report("planning", "busy")
        try:
            await self._read()
            async with self.services.context().cluster.connected_to(self.other) as other:
                await self._plan_steps(other)
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.grid.empty = "all connectors are left out"
            self._advise()
        self.draw()

    async def _read(self) -> None:
        mapping = load(self.services.context().cluster.profiles.path.parent, self.other.name)
        for name in self.names:
            source = await self.services.connect.config(name)
            planned = self.promotions.setdefault(name, Promotion(name, source, {}))
            planned.source, planned.mapped = source, mapping.config(source, mapping.name(name))
            planned.passwords = await self.services.password_keys.of(source)

    async def _plan_steps(self, other: Connect) -> None:
        promotions, keys = list(self.promotions.values()), PasswordKeys(other.plugin_config)
        why = clashes(promotions)
        for number, promotion in enumerate(promotions, 1):
            self.report(f"validating {promotion.name}, {number} of {len(promotions)}", "busy")
            await promotion.plan(other, self.other.label, keys)
            promotion.problem = why.get(promotion.name) or promotion.problem
            self.draw()
        self._is_planned = True

    def _advise(self) -> None:
        """The next step, after planning."""
        promotions = self.promotions.values()
        refused = [promotion for promotion in promotions if promotion.problem]
        if not promotions:
            self.report("no connector is left to promote: esc goes back")
        elif not self._is_planned:
            self.report("the plan is incomplete: F5 plans again", "warn")
        elif refused:
            why = f"{refused[0].name}: {refused[0].problem}"
            self.report(f"{why}; nothing can be promoted until it is fixed (e edits it) or left out (x)", "bad")
        elif not any(promotion.pending for promotion in promotions):
            self.report(f"{self.other.label} has all of these values already: nothing to promote", "good")
        else:
            self.report(f"> promotes: {self.summary}. Offsets are not copied.")

    @property
    def is_ready(self) -> bool:
        """Whether the plan is complete, no connector is refused, and there is something to do."""
        promotions = self.promotions.values()
        return (
            self._is_planned
            and not any(promotion.problem for promotion in promotions)
            and any(promotion.pending for promotion in promotions)
        )

    @property
    def summary(self) -> str:
        counts = Counter(promotion.word for promotion in self.promotions.values())
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
        promotions = self.promotions.values()
        widths = {
            "name": max((len(promotion.name) for promotion in promotions), default=0),
            "there": max((len(promotion.target_name) for promotion in promotions), default=0),
            "text": max((len(promotion.text) for promotion in promotions), default=0),
        }
        self.grid.show(list(self.promotions), self._cells, widths)
        style = "bold $error" if self.other.production else "bold"
        where = (visible(self.other.label) + (" PRODUCTION" if self.other.production else ""), style)
        self.head(("promote", "bold $accent"), " to ", where, "  from", end=self.summary)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        promotion = self.promotions[key]
        word = promotion.word
        cell = Cell(promotion.target_name, "grid--muted" if promotion.target_name == promotion.name else "grid--strong")
        return {
            "name": Cell(promotion.name),
            "there": cell,
            "action": Cell(word, STYLES.get(word, "grid--muted")),
            "text": Cell(promotion.text, _style(promotion)),
        }

    def show_current(self) -> None:
        promotion = self.current
        self.pager.put(Content("") if promotion is None else self._explained(promotion), top=True)

    def _explained(self, promotion: Promotion) -> Content:
        here, target = visible(self.services.profile.label), visible(self.other.label)
        parts: list[str | Content | tuple[str, str]] = [
            (f"{visible(promotion.name)} → {visible(promotion.target_name)}\n", "bold $accent")
        ]
        if promotion.outcome:
            parts.append(
                (f"{visible(promotion.outcome)}\n", "$error" if promotion.failed or promotion.has_ended else "$success")
            )
        if promotion.problem:
            parts.append((f"{visible(promotion.problem)}\n", "$error"))
        parts.append((f"\nvalues that differ from {here}\n", "bold"))
        mapped = [change for change in promotion.rewritten if change.key not in promotion.edits]
        edited = [change for change in promotion.rewritten if change.key in promotion.edits]
        if mapped:
            parts += [
                (f"by [promote.{target}] of config.toml\n", "$text-muted"),
                wording.diff(mapped, promotion.passwords),
                "\n",
            ]
        if edited:
            parts += [("edited\n", "$text-muted"), wording.diff(edited, promotion.passwords), "\n"]
        if not promotion.rewritten:
            none = f"none: no mapping in [promote.{target}] of config.toml applies; e edits values\n"
            parts.append((none, "$text-muted"))
        if promotion.step is not None:
            what = {CREATE: f"\nnew in {target}, {self.state}\n", UPDATE: f"\nchanges in {target}\n"}
            parts.append((what.get(promotion.step.action, f"\n{target} has these values already\n"), "bold"))
            parts += [wording.diff(promotion.step.changes, promotion.passwords), "\n"]
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
        self.report(EFFECT[self.state])
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
        if (promotion := self.current) is not None:
            self.run_worker(self._edit(promotion), exit_on_error=False)

    async def _edit(self, promotion: Promotion) -> None:
        editor = ValuesEditor(f"{promotion.name} in {self.other.label}", promotion.config, promotion.passwords)
        edited = await self.app.push_screen_wait(editor)
        if edited is not None:
            promotion.edit(edited)
            self.action_reload()

    def action_promote(self) -> None:
        if why := policy.refusal(self.other, "promote"):
            self.report(why, "bad")
        elif not self.is_ready:
            self._advise()
        else:
            self.run_worker(self._ask(), exit_on_error=False)

    async def _ask(self) -> None:
        promotions = [promotion for promotion in self.promotions.values() if promotion.pending]
        names = "\n".join(f"{promotion.word} {visible(promotion.target_name)}" for promotion in promotions)
        effect = EFFECT[self.state] if any(promotion.word == CREATE for promotion in promotions) else ""
        rest = "Offsets are not copied. If one connector fails, the others are still promoted; > tries the rest again."
        body = Content.assemble(names, "\n\n", (" ".join(part for part in (effect, rest) if part), "$text-muted"))
        title = f"promote {counted(len(promotions), 'connector')} to {self.other.label}?"
        name = str(len(promotions)) if len(promotions) > 1 else ""
        title += f" type {name} to continue" if name else ""
        if await self.app.push_screen_wait(Dialog(title, body, "promote", name=name, danger=self.other.production)):
            self._busy = True
            self.services.do(self._promote(promotions))
        else:
            self.report("cancelled: promote")

    # The promotion itself

    async def _promote(self, promotions: list[Promotion]) -> None:
        """One connector after the other; then plans again, so that the rest remains. An unreachable cluster ends it."""
        down = self._is_planned = False
        for promotion in promotions:
            promotion.outcome, promotion.failed, promotion.has_ended = "", False, False
        goals: dict[str, Goal] = {}
        try:
            async with self.services.context().cluster.connected_to(self.other) as other:
                state = (await new_state(other, self.state)).state
                for number, promotion in enumerate(promotions, 1):
                    self.report(f"promoting {promotion.name}, {number} of {len(promotions)}", "busy")
                    if down:
                        promotion.outcome, promotion.failed = NOT_TRIED, True
                    else:
                        goals[promotion.target_name] = promotion.goal(state)
                        down = await self._try(promotion, other)
                if not down:
                    await self._settle(promotions, goals, other)
                    await self._plan_steps(other)
        except HeadraceError as error:  # of connecting, before any connector was tried, or of planning again
            for promotion in promotions:
                if not promotion.outcome:
                    promotion.outcome, promotion.failed = error_line(error), True
        finally:
            self._busy = False
        self._finish(promotions)
        self.draw()

    async def _settle(self, promotions: list[Promotion], goals: dict[str, Goal], other: Connect) -> None:
        """Observes the promoted connectors in the other cluster: one that starts may fail with its first records."""
        promoted = {promotion.target_name: promotion for promotion in promotions if not promotion.failed}
        if promoted:
            self.report(f"observing {counted(len(promoted), 'connector')} in {self.other.label}", "busy")
            self.draw()
        context = self.services.context()._replace(settling=usual_settling())
        result = confirmation([TargetOutcome(name, promotion.outcome) for name, promotion in promoted.items()])
        for outcome in (await settled(context, result, goals, None, other)).outcomes:
            promotion = promoted[outcome.name]
            promotion.outcome, promotion.has_ended = outcome.message, outcome.failed

    async def _try(self, promotion: Promotion, other: Connect) -> bool:
        """Promotes one connector as a logged operation. Returns whether the other cluster is unreachable."""
        down = False
        operations = self.services.operations
        line = scrubbed_line(promotion.script_line(self.other.name, self.state))
        operation = operations.begin(
            f"promote to {self.other.label}:", promotion.name, lines=(line,), doing="promoting"
        )
        promotion.is_running = True
        self.draw()
        try:
            outcome = await promotion.run(other, self.other.label, self.state)
        except HeadraceError as error:
            promotion.outcome, promotion.failed, down = error_line(error), True, cluster_is_down(error)
            operations.failed(operation, promotion.outcome)
        else:
            promotion.outcome, promotion.failed = outcome.message, False
            operations.done(operation, outcome.message)
        finally:
            promotion.is_running = False
        return down

    def _finish(self, promotions: list[Promotion]) -> None:
        failed = [promotion for promotion in promotions if promotion.failed]
        done = len(promotions) - len(failed)
        if failed:
            again = "> tries" if self._is_planned else "F5 plans"
            rest = (
                f"{done} of {len(promotions)} promoted and kept; {again} the other {len(failed)} again, e edits values"
            )
            self.report(f"{failed[0].name}: {failed[0].outcome.rstrip('.')}. {rest}", "bad")
        elif ended := [promotion for promotion in promotions if promotion.has_ended]:
            self.report(f"{len(ended)} of {len(promotions)} promoted, but not well: {ended[0].outcome}", "bad")
        else:
            self.report(f"{counted(done, 'connector')} promoted; o opens {self.other.label}", "good")


def _style(promotion: Promotion) -> str:
    if promotion.problem or promotion.failed or promotion.has_ended:
        return "grid--error"
    return "grid--success" if promotion.outcome else ""
