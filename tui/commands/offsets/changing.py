"""Changes of offsets by commands: plans, confirmation, application and messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

from tui import model
from tui.commands.context import CommandCluster, CommandContext, CommandTerminal
from tui.commands.result import TargetOutcome
from tui.errors import FAILED, HeadraceError
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.changes import ChangeKind, OffsetChange
from tui.offsets.operation import Replan, carry_out
from tui.offsets.pending_changes import ChangeStep, PendingChange
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied, PlanAction

if TYPE_CHECKING:
    from tui.offsets.bounds import Bounds

Json = Any
MAX_LISTED = 20  # changes of a connector listed before confirmation


async def plan_entries(
    cluster: CommandCluster,
    name: str,
    entries: Sequence[Json],
    *,
    stop: bool,
    why: str | None,
    action: PlanAction = PlanAction.ALTER,
) -> OffsetPlan:
    """A plan to set these entries, whatever the current offsets. Without `stop`, the server checks that the connector
    is STOPPED."""
    state = await state_of(cluster, name) if stop else "STOPPED"
    now = model.offsets(await cluster.connect.offsets(name))
    return OffsetPlan(name, None, changes_for(now, entries), state, action=action, why=why or "")


async def plan_changes(
    cluster: CommandCluster,
    name: str,
    base: tuple[Offset, ...],
    changes: Sequence[OffsetChange],
    *,
    stop: bool,
    why: str | None,
) -> OffsetPlan:
    """A plan to make these changes, provided that the offsets still are `base`. Raises OffsetsNotApplied."""
    state = await require_changeable(cluster, name, stop)
    return OffsetPlan(name, base, tuple(changes), state, ran=state != "STOPPED", why=why or "")


async def require_changeable(cluster: CommandCluster, name: str, stop: bool) -> str:
    """The connector's state; raises OffsetsNotApplied if it is not STOPPED and `stop` is not given."""
    state = await state_of(cluster, name)
    if state != "STOPPED" and not stop:
        text = f"the connector is {state}; offsets can be changed only while it is STOPPED"
        back = "pauses it again" if state == "PAUSED" else "resumes it"
        raise OffsetsNotApplied(text, f"--stop stops it and {back} afterwards", code=4)
    return state


async def state_of(cluster: CommandCluster, name: str) -> str:
    """The connector's own state, such as RUNNING."""
    return model.connector(name, await cluster.connect.status(name)).state


def changes_for(now: Sequence[Offset], entries: Sequence[Json]) -> tuple[OffsetChange, ...]:
    """Each entry as a change, even if it changes nothing: the server validates all entries."""
    before = {partitions.key(entry.partition): entry.offset for entry in now}
    changes = []
    for entry in entries:
        was = before.get(partitions.key(entry["partition"]))
        kind = ChangeKind.RESET if entry["offset"] is None else ChangeKind.NEW if was is None else ChangeKind.ALTER
        changes.append(OffsetChange(kind, entry["partition"], was, entry["offset"]))
    return tuple(changes)


def announce(terminal: CommandTerminal, plan: OffsetPlan) -> None:
    """Shows the changes of a plan before it is applied."""
    for change in plan.changes[:MAX_LISTED]:
        terminal.report(f"{plan.name}: {change_text(change)}")
    if more := len(plan.changes[MAX_LISTED:]):
        terminal.report(f"{plan.name}: and {more:,} more")
    if plan.must_stop:
        terminal.report(
            f"{plan.name}: is {plan.state}; it will be stopped for the change, and {plan.restored_state} afterwards"
        )


async def confirm_and_apply(
    context: CommandContext, plan: OffsetPlan, yes: bool, total: str = "", again: Replan | None = None
) -> TargetOutcome:
    """Shows the changes, asks for confirmation and applies the plan. Raises HeadraceError if it is not confirmed."""
    announce(context.terminal, plan)
    if total:
        context.terminal.report(f"{plan.name}: {total}")
    if not yes and not context.terminal.confirm(f"set the offsets of {plan.name}?"):
        raise HeadraceError("not confirmed; nothing was changed")
    return await apply_plan(context, plan, again)


async def apply_plan(context: CommandContext, plan: OffsetPlan, again: Replan | None = None) -> TargetOutcome:
    """Applies a plan; reports each step if the connector has to be stopped. Raises OffsetsNotApplied."""

    def report(step: str) -> None:
        if plan.must_stop:
            context.terminal.report(f"{plan.name}: {step}")

    with reports_interruption(context, plan.name):
        done = await carry_out(
            plan, context.cluster.connect, context.cluster.change_store, report, context.clock, again
        )
    for change in done.moved:
        context.terminal.report(f"{plan.name}: the offset moved meanwhile; applied: {change_text(change)}")
    return outcome(done)


@contextmanager
def reports_interruption(context: CommandContext, name: str) -> Iterator[None]:
    """Reports the progress of a change, and how to finish it, if ^C or a signal interrupts it."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if (intent := context.cluster.change_store.pending.of(name)) is not None:
            context.terminal.report(f"{name}: {interruption_text(intent)}")
        raise


def interruption_text(intent: PendingChange) -> str:
    """The state after an interrupted change, and the commands that complete or undo the change."""
    plan, name = intent.plan, quote(intent.plan.name)
    offsets = {
        ChangeStep.STOPPING: "its offsets are unchanged",
        ChangeStep.ALTERING: "its offsets may already have changed",
        ChangeStep.RESUMING: "its offsets have been changed",
    }[intent.step]
    state = f"it was {plan.state} and may be STOPPED now; " if plan.must_stop else ""
    return (
        f"interrupted: {state}{offsets}. Run `finish {name}` to complete the change, `finish {name} --back` to undo it"
    )


def outcome(done: OffsetsApplied) -> TargetOutcome:
    """The server's own response; a failure if something remains to be done."""
    name, message = done.plan.name, done.verdict.message
    left = done.problems()
    if done.left_stopped:
        left.append(f"{partitions.by_hand(done.verdict)}; {name} remains STOPPED".removeprefix("; "))
    if left:
        return TargetOutcome(name, "; ".join([message, *left]), FAILED, raw={"message": message})
    return TargetOutcome(name, message, verdict=done.verdict, raw={"message": message})


def dry_run_outcomes(name: str, changes: Sequence[OffsetChange]) -> list[TargetOutcome]:
    """The result of a dry run: the offset of each partition before and after."""
    outcomes = [TargetOutcome(name, f"would set {change_text(change)}") for change in changes]
    return outcomes or [TargetOutcome(name, "nothing to change")]


def change_text(change: OffsetChange) -> str:
    """One change, such as `orders-3: offset 5 → offset 3, 2 read again`."""
    was = "none" if change.before is None else partitions.shown_offset(change.before)
    text = f"{partitions.shown(change.partition)}: {was} → {partitions.shown_offset(change.after)}"
    return text + (f", {change.effect}" if change.effect else "") + (f" ({change.remark})" if change.remark else "")


def unchanged_text(change: OffsetChange) -> str:
    """A partition that stays, such as `nothing to change: orders-3 stays at offset 50 (…)`, with the reason."""
    where, at = partitions.shown(change.partition), partitions.shown_offset(change.after)
    return f"nothing to change: {where} stays at {at} ({change.remark})"


async def topic_bounds(context: CommandContext, changes: Sequence[OffsetChange]) -> Bounds:
    """The first and last offsets of the topics that the changes name; unknown if the context names no brokers."""
    from tui.offsets import bounds
    from tui.offsets.seek import in_thread

    topics = bounds.topics_of(changes)
    if not topics or not context.cluster.profile.bootstrap:
        return bounds.NO_BOUNDS
    try:
        return await in_thread(lambda: bounds.of_brokers(topics, context.cluster.brokers().with_short_timeout()))
    except HeadraceError as error:
        context.terminal.report(f"cannot compare the offsets with the topics: {error.message}")
        return bounds.NO_BOUNDS
