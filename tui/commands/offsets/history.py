"""The verbs for past changes of offsets: history, undo, rollback, and finishing interrupted changes."""

from __future__ import annotations

from typing import Any

from tui import model
from tui.client.versions import ALTER_OFFSETS
from tui.commands.arguments import flag, integer, option, positional
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.context import CommandCluster, CommandContext
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
        history = await undo.history(context.cluster.connect, context.cluster.change_store, self.name)
        if not history.entries:
            await context.cluster.connect.config(self.name)  # raises NotFound for a name that is unknown
        rows = tuple((p.number, p.at, p.action, p.who, p.why, _summary(p)) for p in history.entries)
        columns = ("NUMBER", "TIME", "ACTION", "USER", "REASON", "CHANGES")
        return Result(
            {"history": history.raw}, Table(columns, rows), names=tuple(str(p.number) for p in history.entries)
        )


def _summary(entry: HistoryEntry) -> str:
    """The first change, and the number of others."""
    shown = [f"{partitions.shown(c.partition)}: {_shown(c.before)} → {_shown(c.after)}" for c in entry.changes]
    return "" if not shown else shown[0] + (f" and {len(shown) - 1} more" if len(shown) > 1 else "")


def _shown(offset: Json) -> str:
    return "none" if offset is None else partitions.shown_offset(offset)


class _Back(ChangingCommand):
    """Restores earlier offsets."""

    danger = Danger.ASK
    needs = ALTER_OFFSETS

    name = positional("NAME", "a connector")
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def chosen(self, history: undo.OffsetHistory) -> HistoryEntry:
        raise NotImplementedError

    def wanted(self, entry: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        raise NotImplementedError

    async def run(self, context: CommandContext) -> Result:
        entry = self.chosen(await undo.history(context.cluster.connect, context.cluster.change_store, self.name))
        now = model.offsets(await context.cluster.connect.offsets(self.name))
        wanted = self.wanted(entry, now)
        if self.dry_run or not wanted:
            return confirmation(dry_run_outcomes(self.name, wanted))

        async def act(name: str) -> TargetOutcome:
            why = self.reason or f"{self.verb}: {entry}"
            plan = await plan_changes(context.cluster, name, now, wanted, stop=self.stop, why=why)
            return await confirm_and_apply(context, plan, self.yes)

        return await for_each([self.name], act)


class Undo(_Back):
    """Undo the last change of a connector's offsets. A second undo restores the change."""

    verb = "undo"

    def chosen(self, history: undo.OffsetHistory) -> HistoryEntry:
        return undo.last(history, self.name)

    def wanted(self, entry: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        return undo.undone(entry, now)


class Rollback(_Back):
    """Restore all offsets of a connector to their state before a change; see `get offset history` for its number."""

    verb = "rollback"

    to = option("--to", metavar="N", help="the number of the change", convert=integer)

    def check(self) -> None:
        refuse(self.to is None, "--to N is required: the number of the change to roll back")

    def chosen(self, history: undo.OffsetHistory) -> HistoryEntry:
        return undo.numbered(history, self.name, self.to or 0)

    def wanted(self, entry: HistoryEntry, now: tuple[model.Offset, ...]) -> list[changes.OffsetChange]:
        return undo.as_before(entry, now)


class GetUnfinished(Command):
    """List interrupted changes of offsets that were started on this machine."""

    verb = "get unfinished"

    async def run(self, context: CommandContext) -> Result:
        pending = context.cluster.change_store.pending.interrupted()
        rows = tuple(
            (pending.plan.name, pending.step.value, pending.plan.state, len(pending.plan.changes), pending.who)
            for pending in pending
        )
        raw = [_document(pending) for pending in pending]
        columns = ("NAME", "INTERRUPTED WHILE", "STATE BEFORE", "PARTITIONS", "USER")
        return Result(raw, Table(columns, rows), names=tuple(pending.plan.name for pending in pending))


def _document(pending: PendingChange) -> Json:
    changed = [change.entry for change in pending.plan.changes]
    return {
        "name": pending.plan.name,
        "step": pending.step.value,
        "state": pending.plan.state,
        "time": pending.time,
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
            return confirmation([TargetOutcome(self.name, self._would(context.cluster))])
        self._ask(context)
        report = context.terminal.report
        recovery = Recovery(
            context.cluster.connect,
            context.cluster.change_store,
            lambda step: report(f"{self.name}: {step}"),
            context.clock,
        )
        act = recovery.roll_back if self.back else recovery.forget if self.forget else recovery.finish

        async def complete(name: str) -> TargetOutcome:
            with reports_interruption(context, name):
                return _recovered(name, await act(name))

        return await for_each([self.name], complete)

    def _ask(self, context: CommandContext) -> None:
        """Shows the interrupted change and asks for confirmation."""
        if (pending := context.cluster.change_store.pending.of(self.name)) is None:
            return
        context.terminal.report(f"{self.name}: {pending.text}")
        announce(context.terminal, pending.plan._replace(state="STOPPED"))
        way = "undo" if self.back else "forget" if self.forget else "finish"
        require_confirmation(context.terminal, self.yes, f"{way} this change of", [self.name])

    def _would(self, cluster: CommandCluster) -> str:
        pending = cluster.change_store.pending.of(self.name)
        if pending is None:
            raise NotFound(f"there is no interrupted change of the offsets of {self.name}", 404)
        return f"would be {'undone' if self.back else 'forgotten' if self.forget else 'finished'}: {pending.text}"


def _recovered(name: str, done: Recovered) -> TargetOutcome:
    if done.left_stopped:
        parts = [done.message, partitions.by_hand(done.verdict), f"{name} remains STOPPED"]
        return TargetOutcome(name, "; ".join(filter(None, parts)), FAILED)
    return TargetOutcome(name, done.message, verdict=done.verdict)
