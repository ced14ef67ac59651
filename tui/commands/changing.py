"""How a verb changes offsets: the plan, its one operation, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

from tui import model
from tui.commands.base import CommandContext
from tui.commands.result import TargetOutcome
from tui.errors import FAILED, HeadraceError
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.changes import Change, Kind
from tui.offsets.operation import Again, carry_out
from tui.offsets.pending_changes import Intent, Step
from tui.offsets.plan import Action, Applied, NotApplied, Plan

if TYPE_CHECKING:
    from tui.offsets.bounds import Bounds

Json = Any
TOLD = 20  # changes of a connector, before it is asked whether to make them


async def planned(
    context: CommandContext,
    name: str,
    entries: Sequence[Json],
    *,
    stop: bool,
    why: str | None,
    action: Action = Action.ALTER,
) -> Plan:
    """To set these entries, whatever is there now; where `stop` is not asked for, the server says that it has to be."""
    state = await state_of(context, name) if stop else "STOPPED"
    now = model.offsets(await context.connect.offsets(name))
    return Plan(name, None, made(now, entries), state, action=action, why=why or "")


async def decided(
    context: CommandContext,
    name: str,
    base: tuple[Offset, ...],
    changes: Sequence[Change],
    *,
    stop: bool,
    why: str | None,
) -> Plan:
    """To make these changes, if the offsets still are what they were decided on."""
    state = await changeable(context, name, stop)
    return Plan(name, base, tuple(changes), state, ran=state != "STOPPED", why=why or "")


async def changeable(context: CommandContext, name: str, stop: bool) -> str:
    """The connector's state; raises NotApplied where it runs and is not to be stopped."""
    state = await state_of(context, name)
    if state != "STOPPED" and not stop:
        text = f"it is {state}, and only the offsets of a STOPPED connector can be changed"
        back = "pauses it again" if state == "PAUSED" else "sets it going again"
        raise NotApplied(text, f"--stop stops it, and {back} afterwards", code=4)
    return state


async def state_of(context: CommandContext, name: str) -> str:
    return model.connector(name, await context.connect.status(name)).state


def made(now: Sequence[Offset], entries: Sequence[Json]) -> tuple[Change, ...]:
    """Each entry as a change, also one that changes nothing: the server shall judge all that was asked for."""
    before = {partitions.key(entry.partition): entry.offset for entry in now}
    changes = []
    for entry in entries:
        was = before.get(partitions.key(entry["partition"]))
        kind = Kind.RESET if entry["offset"] is None else Kind.NEW if was is None else Kind.ALTER
        changes.append(Change(kind, entry["partition"], was, entry["offset"]))
    return tuple(changes)


def tell(context: CommandContext, plan: Plan) -> None:
    """What it comes to, before it is done."""
    for one in plan.changes[:TOLD]:
        context.narrate(f"{plan.name}: {line(one)}")
    if more := len(plan.changes[TOLD:]):
        context.narrate(f"{plan.name}: and {more:,} more")
    if plan.must_stop:
        context.narrate(f"{plan.name}: it is {plan.state}; it is stopped for that, and {plan.afterwards} afterwards")


async def agreed(
    context: CommandContext, plan: Plan, yes: bool, total: str = "", again: Again | None = None
) -> TargetOutcome:
    """Tells it, asks where there is somebody to ask, and does it."""
    tell(context, plan)
    if total:
        context.narrate(f"{plan.name}: {total}")
    if not yes and not context.confirm(f"set the offsets of {plan.name}?"):
        raise HeadraceError("not confirmed, nothing was done")
    return await change(context, plan, again)


async def change(context: CommandContext, plan: Plan, again: Again | None = None) -> TargetOutcome:
    """Raises NotApplied; what was done on the way is told where the connector is stopped for it."""

    def say(step: str) -> None:
        if plan.must_stop:
            context.narrate(f"{plan.name}: {step}")

    with tells_what_is_left(context, plan.name):
        done = await carry_out(plan, context.connect, context.notebook, say, context.clock, again)
    for one in done.moved:
        context.narrate(f"{plan.name}: it had moved on; done was {line(one)}")
    return outcome(plan, done)


@contextmanager
def tells_what_is_left(context: CommandContext, name: str) -> Iterator[None]:
    """When interrupted by ^C or a signal, a change reports its progress and how to finish it."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if (intent := context.notebook.intents.of(name)) is not None:
            context.narrate(f"{name}: {left(intent)}")
        raise


def left(intent: Intent) -> str:
    """The state after an interrupted change, and the commands that complete or undo the change."""
    plan, name = intent.plan, quote(intent.plan.name)
    offsets = {
        Step.STOPPING: "its offsets are unchanged",
        Step.ALTERING: "its offsets may already have changed",
        Step.RESUMING: "its offsets have been changed",
    }[intent.step]
    state = f"it was {plan.state} and may be STOPPED now; " if plan.must_stop else ""
    return (
        f"interrupted: {state}{offsets}. Run `finish {name}` to complete the change, `finish {name} --back` to undo it"
    )


def outcome(plan: Plan, done: Applied) -> TargetOutcome:
    """The server's answer word for word, and a failure where something is left to do."""
    message = done.verdict.message
    left = [done.trouble] if done.trouble else []
    if done.differing:
        left.append(f"read back, {len(done.differing)} of {len(plan.changes)} are different")
    if done.left_stopped:
        left.append(f"{done.verdict.by_hand}; {plan.name} is left STOPPED".removeprefix("; "))
    if left:
        return TargetOutcome(plan.name, "; ".join([message, *left]), FAILED, raw={"message": message})
    return TargetOutcome(plan.name, message, verdict=done.verdict, raw={"message": message})


def would(name: str, changes: Sequence[Change]) -> list[TargetOutcome]:
    """A dry run: what each partition is, and what it would be."""
    found = [TargetOutcome(name, f"would set {line(one)}") for one in changes]
    return found or [TargetOutcome(name, "nothing has to be changed")]


def line(one: Change) -> str:
    """`orders-3: offset 5 → offset 3, 2 read again`."""
    was = "none" if one.before is None else partitions.shown_offset(one.before)
    text = f"{partitions.shown(one.partition)}: {was} → {partitions.shown_offset(one.after)}"
    return text + (f", {one.effect}" if one.effect else "") + (f" ({one.remark})" if one.remark else "")


def stays(one: Change) -> str:
    """`nothing to change: orders-3 stays at offset 50 (the end: the topic has no 99)`."""
    where, at = partitions.shown(one.partition), partitions.shown_offset(one.after)
    return f"nothing to change: {where} stays at {at} ({one.remark})"


async def limits(context: CommandContext, made: Sequence[Change]) -> Bounds:
    """Of the topics of these changes."""
    from tui.offsets import bounds
    from tui.offsets.seek import aside

    topics = bounds.topics_of(made)
    if not topics or not context.profile.bootstrap:
        return bounds.NOWHERE
    try:
        return await aside(lambda: bounds.of_brokers(topics, context.brokers().hasty()))
    except HeadraceError as error:
        context.narrate(f"not compared with the topics: {error.message}")
        return bounds.NOWHERE
