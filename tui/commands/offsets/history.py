"""The verbs for past changes of offsets: history, undo, rollback, and finishing interrupted changes."""

from __future__ import annotations

from typing import Any

from tui import model
from tui.commands.arguments import flag, integer, option, positional
from tui.commands.base import ChangingCommand, Command, CommandContext, Danger, refuse
from tui.commands.offsets.altering import REASON_HELP, STOP_HELP
from tui.commands.offsets.changing import (
    announce,
    confirm_and_apply,
    dry_run_outcomes,
    plan_changes,
    reports_interruption,
)
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import for_each, require_confirmation
from tui.errors import FAILED, NotFound
from tui.offsets import changes, partitions, undo
from tui.offsets.pending_changes import PendingChange
from tui.offsets.recovery import Recovered, Recovery
from tui.offsets.undo import HistoryEntry

Json = Any


class GetOffsetHistory(Command):
    """List the changes of a connector's offsets, newest first, with the offsets before each change."""

    verb = "get offset history"

    name = positional("NAME", "a connector, even if it has been deleted")

    async def run(self, context: CommandContext) -> Result:
        found = await undo.history(context.connect, context.change_store, self.name)
        rows = tuple((p.number, p.at, p.action, p.who, p.why, _summary(p)) for p in found.entries)
        columns = ("NUMBER", "TIME", "ACTION", "USER", "REASON", "CHANGES")
        return Result({"history": found.raw}, Table(columns, rows), names=tuple(str(p.number) for p in found.entries))


def _summary(one: HistoryEntry) -> str:
    """The first change, and the number of others."""
    shown = [f"{partitions.shown(c.partition)}: {_shown(c.before)} → {_shown(c.after)}" for c in one.made]
    return "" if not shown else shown[0] + (f" and {len(shown) - 1} more" if len(shown) > 1 else "")


def _shown(offset: Json) -> str:
    return "none" if offset is None else partitions.shown_offset(offset)


class _Back(ChangingCommand):
    """Restores earlier offsets."""

    danger = Danger.ASK

    name = positional("NAME", "a connector")
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def chosen(self, found: undo.OffsetHistory) -> HistoryEntry:
        raise NotImplementedError

    def wanted(self, one: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        raise NotImplementedError

    async def run(self, context: CommandContext) -> Result:
        one = self.chosen(await undo.history(context.connect, context.change_store, self.name))
        now = model.offsets(await context.connect.offsets(self.name))
        wanted = self.wanted(one, now)
        if self.dry_run or not wanted:
            return confirmation(dry_run_outcomes(self.name, wanted))

        async def act(name: str) -> TargetOutcome:
            why = self.reason or f"{self.verb}: {one}"
            plan = await plan_changes(context, name, now, wanted, stop=self.stop, why=why)
            return await confirm_and_apply(context, plan, self.yes)

        return await for_each([self.name], act)


class Undo(_Back):
    """Undo the last change of a connector's offsets. A second undo restores the change."""

    verb = "undo"

    def chosen(self, found: undo.OffsetHistory) -> HistoryEntry:
        return undo.last(found, self.name)

    def wanted(self, one: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        return undo.undone(one, now)


class Rollback(_Back):
    """Restore all offsets of a connector to their state before a change; see `get offset history` for its number."""

    verb = "rollback"

    to = option("--to", metavar="N", help="the number of the change", convert=integer)

    def check(self) -> None:
        refuse(self.to is None, "--to N is required: the number of the change to roll back")

    def chosen(self, found: undo.OffsetHistory) -> HistoryEntry:
        return undo.numbered(found, self.name, self.to or 0)

    def wanted(self, one: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        return undo.as_before(one, now)


class GetUnfinished(Command):
    """List interrupted changes of offsets that were started on this machine."""

    verb = "get unfinished"

    async def run(self, context: CommandContext) -> Result:
        found = context.change_store.pending.interrupted()
        rows = tuple((one.plan.name, one.step.value, one.plan.state, len(one.plan.changes), one.who) for one in found)
        raw = [_document(one) for one in found]
        columns = ("NAME", "INTERRUPTED WHILE", "STATE BEFORE", "PARTITIONS", "USER")
        return Result(raw, Table(columns, rows), names=tuple(one.plan.name for one in found))


def _document(one: PendingChange) -> Json:
    changed = [change.entry for change in one.plan.changes]
    return {
        "name": one.plan.name,
        "step": one.step.value,
        "state": one.plan.state,
        "time": one.time,
        "offsets": changed,
    }


class Finish(ChangingCommand):
    """Finish an interrupted change of offsets: complete it, undo it with --back, or discard it with --forget."""

    verb = "finish"
    danger = Danger.ASK

    name = positional("NAME", "as listed by `get unfinished`")
    back = flag("--back", help="restore the previous offsets and state")
    forget = flag("--forget", help="keep the current offsets and state, and discard the record")

    def check(self) -> None:
        refuse(self.back and self.forget, "give --back or --forget, not both")

    async def run(self, context: CommandContext) -> Result:
        if self.dry_run:
            return confirmation([TargetOutcome(self.name, self._would(context))])
        self._ask(context)
        say = context.narrate
        recovery = Recovery(
            context.connect, context.change_store, lambda step: say(f"{self.name}: {step}"), context.clock
        )
        act = recovery.roll_back if self.back else recovery.forget if self.forget else recovery.finish

        async def one(name: str) -> TargetOutcome:
            with reports_interruption(context, name):
                return _recovered(name, await act(name))

        return await for_each([self.name], one)

    def _ask(self, context: CommandContext) -> None:
        """Shows the interrupted change and asks for confirmation."""
        if (found := context.change_store.pending.of(self.name)) is None:
            return
        context.narrate(f"{self.name}: {found.text}")
        announce(context, found.plan._replace(state="STOPPED"))
        way = "undo" if self.back else "forget" if self.forget else "finish"
        require_confirmation(context, self.yes, f"{way} this change of", [self.name])

    def _would(self, context: CommandContext) -> str:
        found = context.change_store.pending.of(self.name)
        if found is None:
            raise NotFound(f"there is no interrupted change of the offsets of {self.name}", 404)
        return f"would be {'undone' if self.back else 'forgotten' if self.forget else 'finished'}: {found.text}"


def _recovered(name: str, done: Recovered) -> TargetOutcome:
    if done.left_stopped:
        by_hand = done.verdict.by_hand if done.verdict else ""
        return TargetOutcome(name, "; ".join(filter(None, [done.message, by_hand, f"{name} remains STOPPED"])), FAILED)
    return TargetOutcome(name, done.message, verdict=done.verdict)
