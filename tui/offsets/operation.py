"""Changing offsets as one operation:

    stop (if needed) → read → check for conflicts → alter → read restore → record in the history → restore the state

Each step is stored on disk before it starts, and requests are retried through a short outage (`tui.offsets.retry`).
After a failure the connector's offsets and state are restored. If that fails too, because the cluster stays
unreachable, the stored step remains and `tui.offsets.recovery` continues from it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tui import model
from tui.client import versions
from tui.client.client import Connect
from tui.errors import HeadraceError, NotFound, Refused, ServerError, TimedOut, WrongState, may_have_arrived
from tui.formatting import counted
from tui.model import Certainty, Offset, Verdict
from tui.offsets import partitions
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import OffsetChange, OffsetConflict, changes, conflicts, same_offset
from tui.offsets.pending_changes import ChangeLock, ChangeStep, PendingChange, advanced
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied, PlanAction
from tui.offsets.retry import Clock, Report, Retry, is_response_lost

STOP_TIMEOUT = 90.0  # seconds
POLL_INTERVAL = 0.25  # seconds between two requests for the state
READ_BACKS, READ_BACK_INTERVAL = 4, 0.5  # requests for the changed offsets while they differ, and seconds between them
Replan = Callable[[], Awaitable[tuple[OffsetChange, ...]]]
MAX_ATTEMPTS = 3  # requests for the change itself while their responses are lost


def no_report(step: str) -> None:
    """Discards the progress of an operation."""


async def carry_out(
    plan: OffsetPlan,
    connect: Connect,
    change_store: ChangeStore,
    report: Report = no_report,
    clock: Clock = time.monotonic,
    replan: Replan | None = None,
) -> OffsetsApplied:
    """Applies a plan. `replan` computes the changes again once the connector has been stopped for them.

    Raises OffsetsNotApplied, with the server's own message if it refused the change, or if an earlier change is still
    unfinished; Conflict while another console on this machine is changing the connector's offsets; Unsupported if the
    worker's version cannot change offsets, so that no connector is stopped in vain.
    """
    await connect.require(versions.ALTER_OFFSETS)
    lock = change_store.pending.lock(plan.name)
    try:
        if (earlier := change_store.pending.of(plan.name)) is not None:
            raise OffsetsNotApplied(
                f"an earlier change is still unfinished: {earlier.text}", _advice(plan.name), code=4
            )
        operation = OffsetOperation(
            PendingChange(plan, ChangeStep.STOPPING, who=change_store.who), connect, change_store, lock, report, clock
        )
        operation.replan = replan
        return await operation.run()
    finally:
        lock.release()


def _advice(name: str) -> str:
    from shlex import quote

    return f"`finish {quote(name)}` completes the change, --back rolls it back, --forget keeps the current offsets"


class OffsetOperation:
    """One change, from its first step or, in a recovery, from a later one."""

    def __init__(
        self,
        pending: PendingChange,
        connect: Connect,
        change_store: ChangeStore,
        lock: ChangeLock,
        report: Report,
        clock: Clock,
    ) -> None:
        self.pending, self.connect, self.change_store, self.lock, self.report, self.clock = (
            pending, connect, change_store, lock, report, clock,
        )  # fmt: skip
        self.plan, self.name = pending.plan, pending.plan.name
        self.planned = pending.plan.changes
        self.origin = change_store.origin(pending.plan.why)
        self.retry = Retry(connect.sleep, report, clock)
        self.replan: Replan | None = None
        self.stopped = False  # by this operation, or by the interrupted one that it continues

    async def run(self) -> OffsetsApplied:
        """Stops the connector if needed, then changes its offsets. Raises OffsetsNotApplied."""
        if self.plan.must_stop:
            try:
                await self.stop()
            except HeadraceError as error:
                raise await self.rolled_back(error) from error
        return await self.change_offsets()

    async def change_offsets(self) -> OffsetsApplied:
        """Changes the offsets of a connector that is stopped. Raises OffsetsNotApplied."""
        try:
            before = await self.checked_offsets()
            if self.replan is not None and self.plan.may_have_advanced and not await self.replanned(self.replan):
                return await self.unneeded(before)
        except HeadraceError as error:
            raise await self.rolled_back(error) from error
        return await self.alter(before)

    async def stop(self) -> None:
        """Stops the connector. If someone else has stopped it since the plan was made, it remains STOPPED."""
        if (await self.status()).state == "STOPPED":
            self.report("someone else has stopped the connector: it remains STOPPED")
            self.use(self.plan._replace(state="STOPPED", ran=True))
        self.note(ChangeStep.STOPPING)
        if self.plan.must_stop:
            await self.send_stop()
        deadline = self.clock() + STOP_TIMEOUT
        while not (seen := await self.status()).is_in("STOPPED"):
            left = f"{counted(len(seen.tasks), 'task')} still running"
            if self.clock() > deadline:
                raise TimedOut(f"not STOPPED within {STOP_TIMEOUT:g} s: {seen.state}, {left}")
            self.report(f"waiting for STOPPED: {seen.state}, {left}")
            await self.connect.sleep(POLL_INTERVAL)

    async def send_stop(self) -> None:
        self.report("stopping the connector")
        self.stopped = True
        try:
            await self.retry.call(lambda: self.connect.stop(self.name))
        except Refused as error:
            self.stopped = isinstance(error, ServerError)  # another worker may have received the request
            raise

    async def status(self) -> model.Connector:
        return model.connector(self.name, await self.retry.call(lambda: self.connect.status(self.name)))

    async def checked_offsets(self) -> tuple[Offset, ...]:
        """The current offsets. Raises OffsetsNotApplied if someone else has changed them since the plan was made."""
        self.report("reading the offsets again")
        now = await self.read()
        if self.plan.base is None:
            return now
        if changed_meanwhile := conflicts(self.plan.base, now, self.plan.changes, ran=self.plan.may_have_advanced):
            raise OffsetsNotApplied(
                f"someone else changed {_listed(changed_meanwhile)} in the meantime",
                code=4,
                conflicts=changed_meanwhile,
                now=now,
            )
        return now

    async def replanned(self, replan: Replan) -> bool:
        """Computes the changes again, since the connector may have advanced until it stopped."""
        self.report("computing the target offsets again")
        changes = await self.retry.call(replan)
        self.planned = self.plan.changes
        self.use(self.plan._replace(changes=changes))
        return bool(changes)

    def use(self, plan: OffsetPlan) -> None:
        self.plan = plan
        self.pending = replace(self.pending, plan=plan)

    async def unneeded(self, before: tuple[Offset, ...]) -> OffsetsApplied:
        if self.stopped:
            await self.restore_state()
        self.lock.drop()
        verdict = Verdict(Certainty.DEFINITE, "nothing to change: the connector has reached these offsets by itself")
        return OffsetsApplied(self.plan, verdict, before, (), left_stopped=False)

    async def alter(self, before: tuple[Offset, ...]) -> OffsetsApplied:
        """Sends the change; from here on it may have taken effect."""
        try:
            self.note(ChangeStep.ALTERING, before)
        except HeadraceError as error:  # as when the disk has become full: nothing is altered yet
            raise await self.rolled_back(error) from error
        self.report("altering the offsets" if self.plan.action is PlanAction.ALTER else "resetting the offsets")
        try:
            verdict = await self.altered()
        except HeadraceError as error:
            raise await self.rolled_back(error, before) from error
        return await self.complete(verdict, before)

    async def altered(self, tries: int = MAX_ATTEMPTS) -> Verdict:
        """Sends the change, which is idempotent. If the response is lost, reads the offsets and sends it again."""
        try:
            return await self.send()
        except HeadraceError as error:
            if not is_response_lost(error):
                raise
            lost = error
        self.report(f"{lost.message}: sending the same change again")
        try:
            missing = differing(self.plan.changes, await self.read())
        except NotFound:
            if self.plan.action is not PlanAction.DELETE:
                raise
            return Verdict(Certainty.POSSIBLE, f"{lost.message}; the connector no longer exists")
        if tries > 1:
            return await self.altered(tries - 1)
        if missing:
            raise lost
        return Verdict(Certainty.POSSIBLE, f"{lost.message}; the offsets read back are the requested ones")

    async def send(self) -> Verdict:
        if self.plan.action is PlanAction.ALTER:
            entries = [change.entry for change in self.plan.changes]
            return model.verdict(await self.connect.alter_offsets(self.name, entries, self.origin))
        verdict = model.verdict(await self.connect.reset_offsets(self.name, self.origin))
        if self.plan.action is PlanAction.DELETE:
            self.report("deleting the connector")
            await self.connect.delete(self.name)
        return verdict

    async def complete(self, verdict: Verdict, before: tuple[Offset, ...]) -> OffsetsApplied:
        """Reads the offsets back and restores the state. The result reports a failure here, since the change stays."""
        unkept = self.kept(lambda: self.note(ChangeStep.RESUMING, before))
        if self.plan.action is PlanAction.DELETE:
            unkept = self.kept(lambda: self.change_store.histories.add(self.pending)) or unkept
            self.lock.drop()
            return OffsetsApplied(self.plan, verdict, (), (), left_stopped=False, trouble=unkept)
        after, differs, trouble = before, tuple[OffsetChange, ...](), ""
        left_stopped = self.stopped
        try:
            self.report("reading the offsets back")
            after = await self.read_back()
            differs = differing(self.plan.changes, after)
            unkept = self.kept(lambda: self.change_store.histories.add(self.pending)) or unkept
            if self.stopped and verdict.certainty is Certainty.DEFINITE and not differs:
                await self.restore_state()
                left_stopped = False
            self.lock.drop()
        except HeadraceError as error:
            trouble = f"the offsets were changed, but a later step failed: {error.message}"
        trouble = "; ".join(filter(None, (trouble, unkept)))
        moved = _moved(self.planned, made_from(self.plan.changes, before))
        return OffsetsApplied(self.plan, verdict, after, differs, left_stopped, trouble, moved)

    def kept(self, write: Callable[[], None]) -> str:
        """Writes a file of a change that has taken effect. A file that cannot be written, as on a full disk, does not
        leave the connector STOPPED; the text says what is missing."""
        try:
            write()
        except HeadraceError as error:
            return f"the change is not in the history: {error}"
        return ""

    async def rolled_back(self, error: HeadraceError, before: tuple[Offset, ...] | None = None) -> OffsetsNotApplied:
        """Restores offsets and state after a failure, and returns the error to raise."""
        stopped, unfinished, now = self.stopped, False, None
        advice = "" if may_have_arrived(error) else error.advice  # nothing of it remains after the roll-back
        try:
            if before is not None and not isinstance(error, WrongState | NotFound):
                now = await self.restored_offsets(before)
            if self.stopped:
                await self.restore_state()
                stopped = False
            self.lock.drop()
        except HeadraceError as trouble:
            unfinished = True
            effect = "the change may have taken effect" if before is not None else "the connector may be stopped"
            advice = f"{effect}: {trouble.message}; {_advice(self.name)}"
        if isinstance(error, OffsetsNotApplied):
            error.stopped, error.unfinished, error.advice = stopped, unfinished, advice
            return error
        return OffsetsNotApplied(
            error.message, advice, code=error.exit_code, stopped=stopped, unfinished=unfinished, now=now
        )

    async def restored_offsets(self, before: tuple[Offset, ...]) -> tuple[Offset, ...]:
        """Restores offsets of a change that was refused after it was partly applied; returns the current offsets."""
        now = await self.read()
        keys = {partitions.key(change.partition) for change in self.plan.changes}
        wanted = [Offset(entry.partition, None) for entry in now if partitions.key(entry.partition) in keys]
        wanted += [entry for entry in before if partitions.key(entry.partition) in keys]
        last = {partitions.key(entry.partition): entry for entry in wanted}
        if undo := changes(now, list(last.values())):
            self.report("restoring the altered offsets")
            entries = [change.entry for change in undo]
            await self.retry.call(lambda: self.connect.alter_offsets(self.name, entries, self.origin))
            return await self.read()
        return now

    async def restore_state(self) -> None:
        self.report(f"{self.plan.restoring_verb}: restoring the connector's state")
        restore = self.connect.pause if self.plan.restoring_verb == "pause" else self.connect.resume
        await self.retry.call(lambda: restore(self.name))

    async def read(self) -> tuple[Offset, ...]:
        return model.offsets(await self.retry.call(lambda: self.connect.offsets(self.name)))

    async def read_back(self) -> tuple[Offset, ...]:
        """The offsets after the change; read again a few times while they differ from it, since the worker that
        responds may not have read the change from the offsets topic yet."""
        after = await self.read()
        for _ in range(READ_BACKS - 1):
            if not differing(self.plan.changes, after):
                break
            await self.connect.sleep(READ_BACK_INTERVAL)
            after = await self.read()
        return after

    def note(self, step: ChangeStep, before: tuple[Offset, ...] | None = None) -> None:
        self.pending = advanced(self.pending, step, before)
        self.lock.write(self.pending)


def differing(changes: Sequence[OffsetChange], after: Sequence[Offset]) -> tuple[OffsetChange, ...]:
    """Changes that the offsets read back do not show."""
    stored = {partitions.key(entry.partition): entry.offset for entry in after}
    return tuple(
        change for change in changes if not same_offset(stored.get(partitions.key(change.partition)), change.after)
    )


def made_from(changes: Sequence[OffsetChange], before: Sequence[Offset]) -> tuple[OffsetChange, ...]:
    """The changes with the offsets that were current when they were made. Where these differ from the planned ones, the
    effect in records is no longer known."""
    former = {partitions.key(entry.partition): entry.offset for entry in before}
    return tuple(
        change if same_offset(change.before, now) else replace(change, before=now, effect=None)
        for change in changes
        for now in (former.get(partitions.key(change.partition)),)
    )


def _moved(planned: Sequence[OffsetChange], changes: tuple[OffsetChange, ...]) -> tuple[OffsetChange, ...]:
    """Changes that start or end at another offset than the planned one."""
    known = {partitions.key(change.partition): change for change in planned}
    return tuple(
        change
        for change in changes
        if (old := known.get(partitions.key(change.partition))) is None
        or not (same_offset(old.before, change.before) and same_offset(old.after, change.after))
    )


def _listed(conflicts: Sequence[OffsetConflict]) -> str:
    parts = [
        f"{partitions.shown(conflict.partition)} "
        f"({partitions.shown_offset(conflict.was)} → {partitions.shown_offset(conflict.now)})"
        for conflict in conflicts[:3]
    ]
    return ", ".join(parts) + (f" and {len(conflicts) - 3} more" if len(conflicts) > 3 else "")
