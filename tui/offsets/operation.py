"""A change of offsets as one operation:

    stop (if it must be) → read → did anybody change it? → alter → read back → into the history → as it was before

Each step is noted on disk before it is taken. A cluster that is away for a moment is waited for (`patience`). What
fails leaves the connector as it was, offsets and state. Where that cannot be done because the cluster stays away, the
note stays: `recovery` goes on from it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tui import model
from tui.client.client import Connect
from tui.errors import HeadraceError, NotFound, Refused, ServerError, TimedOut, WrongState
from tui.formatting import counted
from tui.model import Certainty, Offset, Verdict
from tui.offsets import partitions
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import OffsetChange, OffsetConflict, changes, conflicts, same_offset
from tui.offsets.pending_changes import ChangeLock, ChangeStep, PendingChange, advanced
from tui.offsets.plan import OffsetAction, OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.offsets.retry import Clock, Report, Retry, is_answer_lost

STOP_TIMEOUT = 90.0  # seconds
POLL_INTERVAL = 0.25  # seconds between looks at the state while waiting
Replan = Callable[[], Awaitable[tuple[OffsetChange, ...]]]
MAX_ATTEMPTS = 3  # of the change itself, where its answer is lost


def no_report(step: str) -> None:
    """Nobody listens."""


async def carry_out(
    plan: OffsetPlan,
    connect: Connect,
    change_store: ChangeStore,
    report: Report = no_report,
    clock: Clock = time.monotonic,
    again: Replan | None = None,
) -> OffsetsApplied:
    """`again` decides anew once the connector, stopped for this, stands still. Raises NotApplied with the server's own
    message where it refused, Conflict while another change of this connector is under way or waits for being finished.
    """
    held = change_store.pending.lock(plan.name)
    try:
        if (left := change_store.pending.of(plan.name)) is not None:
            raise OffsetsNotApplied(
                f"an earlier change waits for being finished: {left.text}", _ways_out(plan.name), code=4
            )
        operation = OffsetOperation(
            PendingChange(plan, ChangeStep.STOPPING, who=change_store.who), connect, change_store, held, report, clock
        )
        operation.again = again
        return await operation.run()
    finally:
        held.release()


def _ways_out(name: str) -> str:
    from shlex import quote

    return f"`finish {quote(name)}` goes on, with --back it is taken back, with --forget left as it is"


class OffsetOperation:
    """One of them, from its beginning or (recovery) from a step further on."""

    def __init__(
        self,
        pending: PendingChange,
        connect: Connect,
        change_store: ChangeStore,
        held: ChangeLock,
        report: Report,
        clock: Clock,
    ) -> None:
        self.pending, self.connect, self.change_store, self.held, self.report, self.clock = (
            pending, connect, change_store, held, report, clock,
        )  # fmt: skip
        self.plan, self.name = pending.plan, pending.plan.name
        self.decided = pending.plan.changes
        self.origin = change_store.origin(pending.plan.why)
        self.retry = Retry(connect.sleep, report, clock)
        self.again: Replan | None = None
        self.stopped = False  # by us, or by the console that did not come to its end

    async def run(self) -> OffsetsApplied:
        """All of it."""
        if self.plan.must_stop:
            try:
                await self.stop()
            except HeadraceError as error:
                raise await self.as_it_was(error) from error
        return await self.go_through()

    async def go_through(self) -> OffsetsApplied:
        """What comes when it stands still."""
        try:
            before = await self.unchanged()
            if self.again is not None and self.stopped and not await self.decided_again(self.again):
                return await self.nothing_to_do(before)
        except HeadraceError as error:
            raise await self.as_it_was(error) from error
        return await self.alter(before)

    async def stop(self) -> None:
        self.note(ChangeStep.STOPPING)
        self.report("stopping the connector")
        self.stopped = True
        try:
            await self.retry.call(lambda: self.connect.stop(self.name))
        except Refused as error:
            self.stopped = isinstance(error, ServerError)  # it may have been passed on
            raise
        deadline = self.clock() + STOP_TIMEOUT
        while not (seen := await self.look()).is_in("STOPPED"):
            left = f"{counted(len(seen.tasks), 'task')} left"
            if self.clock() > deadline:
                raise TimedOut(f"not STOPPED within {STOP_TIMEOUT:g} s: {seen.state}, {left}")
            self.report(f"waiting for STOPPED: {seen.state}, {left}")
            await self.connect.sleep(POLL_INTERVAL)

    async def look(self) -> model.Connector:
        return model.connector(self.name, await self.retry.call(lambda: self.connect.status(self.name)))

    async def unchanged(self) -> tuple[Offset, ...]:
        """The offsets that are there now, the same as when the change was decided."""
        self.report("reading the offsets again")
        now = await self.read()
        if self.plan.base is None:
            return now
        ran = self.plan.ran or self.plan.must_stop
        if found := conflicts(self.plan.base, now, self.plan.changes, ran=ran):
            raise OffsetsNotApplied(
                f"somebody else changed {_listed(found)} meanwhile", code=4, conflicts=found, now=now
            )
        return now

    async def decided_again(self, again: Replan) -> bool:
        """A connector gets on until it is stopped: what was meant from where it is, is meant from there."""
        self.report("looking again where that is")
        made = await self.retry.call(again)
        self.decided = self.plan.changes
        self.plan = self.plan._replace(changes=made)
        self.pending = replace(self.pending, plan=self.plan)
        return bool(made)

    async def nothing_to_do(self, before: tuple[Offset, ...]) -> OffsetsApplied:
        await self.go_on()
        self.held.drop()
        verdict = Verdict(Certainty.DEFINITE, "nothing has to be changed: it came there by itself")
        return OffsetsApplied(verdict, before, before, (), left_stopped=False)

    async def alter(self, before: tuple[Offset, ...]) -> OffsetsApplied:
        """From here on the change may be there."""
        self.note(ChangeStep.ALTERING, before)
        self.report("altering the offsets" if self.plan.action is OffsetAction.ALTER else "resetting the offsets")
        try:
            verdict = await self.answered()
        except HeadraceError as error:
            raise await self.as_it_was(error, before) from error
        return await self.afterwards(verdict, before)

    async def answered(self, tries: int = MAX_ATTEMPTS) -> Verdict:
        """The same change twice is the same: where no answer comes, it is asked for again as soon as the cluster is
        back, and then looked for."""
        try:
            return await self.ask()
        except HeadraceError as error:
            if not is_answer_lost(error):
                raise
            lost = error
        self.report(f"{lost.message}: asking again, which does the same")
        try:
            missing = differing(self.plan.changes, await self.read())
        except NotFound:
            if self.plan.action is not OffsetAction.DELETE:
                raise
            return Verdict(Certainty.POSSIBLE, f"{lost.message}; looked again, the connector is gone")
        if tries > 1:
            return await self.answered(tries - 1)
        if missing:
            raise lost
        return Verdict(Certainty.POSSIBLE, f"{lost.message}; read again, the offsets are as they should be")

    async def ask(self) -> Verdict:
        if self.plan.action is OffsetAction.ALTER:
            entries = [change.entry for change in self.plan.changes]
            return model.verdict(await self.connect.alter_offsets(self.name, entries, self.origin))
        verdict = model.verdict(await self.connect.reset_offsets(self.name, self.origin))
        if self.plan.action is OffsetAction.DELETE:
            self.report("deleting the connector")
            await self.connect.delete(self.name)
        return verdict

    async def afterwards(self, verdict: Verdict, before: tuple[Offset, ...]) -> OffsetsApplied:
        """The change is made: whatever fails from here on must not look as if it were not."""
        self.note(ChangeStep.RESUMING, before)
        if self.plan.action is OffsetAction.DELETE:
            self.finished()
            return OffsetsApplied(verdict, before, (), (), left_stopped=False)
        after, differs, left_stopped, trouble = before, tuple[OffsetChange, ...](), self.stopped, ""
        try:
            self.report("reading the offsets back")
            after = await self.read()
            differs = differing(self.plan.changes, after)
            self.change_store.histories.add(self.pending)
            if self.stopped and verdict.certainty is Certainty.DEFINITE and not differs:
                await self.go_on()
                left_stopped = False
            self.held.drop()
        except HeadraceError as error:
            trouble = f"the offsets were changed, but then: {error.message}"
        moved = _moved(self.decided, made_from(self.plan.changes, before))
        return OffsetsApplied(verdict, before, after, differs, left_stopped, trouble, moved)

    def finished(self) -> None:
        self.change_store.histories.add(self.pending)
        self.held.drop()

    async def as_it_was(self, error: HeadraceError, before: tuple[Offset, ...] | None = None) -> OffsetsNotApplied:
        """Takes back what was done, and says what failed."""
        stopped, unfinished, now, advice = self.stopped, False, None, error.advice
        try:
            if before is not None and not isinstance(error, WrongState | NotFound):
                now = await self.taken_back(before)
            if self.stopped:
                await self.go_on()
                stopped = False
            self.held.drop()
        except HeadraceError as trouble:
            unfinished = True
            said = "whether it took effect is not known, since" if before is not None else "and then"
            advice = f"{said} {trouble.message}; {_ways_out(self.name)}"
        if isinstance(error, OffsetsNotApplied):
            error.stopped, error.unfinished, error.advice = stopped, unfinished, advice
            return error
        return OffsetsNotApplied(
            error.message, advice, code=error.exit_code, stopped=stopped, unfinished=unfinished, now=now
        )

    async def taken_back(self, before: tuple[Offset, ...]) -> tuple[Offset, ...]:
        """A refusal may come when half of it was done; the offsets that are there in the end."""
        now = await self.read()
        keys = {partitions.key(change.partition) for change in self.plan.changes}
        wanted = [Offset(entry.partition, None) for entry in now if partitions.key(entry.partition) in keys]
        wanted += [entry for entry in before if partitions.key(entry.partition) in keys]
        last = {partitions.key(entry.partition): entry for entry in wanted}
        if half := changes(now, list(last.values())):
            self.report("taking back what was altered")
            entries = [change.entry for change in half]
            await self.retry.call(lambda: self.connect.alter_offsets(self.name, entries, self.origin))
            return await self.read()
        return now

    async def go_on(self) -> None:
        self.report(f"{self.plan.way_back}: the connector goes on as it was")
        back = self.connect.pause if self.plan.way_back == "pause" else self.connect.resume
        await self.retry.call(lambda: back(self.name))

    async def read(self) -> tuple[Offset, ...]:
        return model.offsets(await self.retry.call(lambda: self.connect.offsets(self.name)))

    def note(self, step: ChangeStep, before: tuple[Offset, ...] | None = None) -> None:
        self.pending = advanced(self.pending, step, before)
        self.held.write(self.pending)


def differing(made: Sequence[OffsetChange], after: Sequence[Offset]) -> tuple[OffsetChange, ...]:
    """Changes that are not found there."""
    there = {partitions.key(entry.partition): entry.offset for entry in after}
    return tuple(
        change for change in made if not same_offset(there.get(partitions.key(change.partition)), change.after)
    )


def made_from(made: Sequence[OffsetChange], before: Sequence[Offset]) -> tuple[OffsetChange, ...]:
    """The same, from where it really was; what that means in records was counted from elsewhere."""
    was = {partitions.key(entry.partition): entry.offset for entry in before}
    return tuple(
        change if same_offset(change.before, now) else replace(change, before=now, effect=None)
        for change in made
        for now in (was.get(partitions.key(change.partition)),)
    )


def _moved(decided: Sequence[OffsetChange], made: tuple[OffsetChange, ...]) -> tuple[OffsetChange, ...]:
    """Those that are not what was decided."""
    known = {partitions.key(change.partition): change for change in decided}
    return tuple(
        change
        for change in made
        if (old := known.get(partitions.key(change.partition))) is None
        or not (same_offset(old.before, change.before) and same_offset(old.after, change.after))
    )


def _listed(found: Sequence[OffsetConflict]) -> str:
    parts = [
        f"{partitions.shown(one.partition)} ({partitions.shown_offset(one.was)} → {partitions.shown_offset(one.now)})"
        for one in found[:3]
    ]
    return ", ".join(parts) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
