"""A change that a console did not bring to its end: finish it, take it back, or leave things as they are."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tui import model
from tui.client.client import Connect
from tui.errors import NotFound
from tui.model import Offset, Verdict
from tui.offsets import partitions
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import OffsetChange, OffsetConflict, changes, same_offset
from tui.offsets.operation import OffsetOperation, no_report
from tui.offsets.pending_changes import ChangeLock, ChangeStep, PendingChange
from tui.offsets.plan import OffsetAction, OffsetsApplied, OffsetsNotApplied
from tui.offsets.retry import Clock, Report

_Act = Callable[["PendingChange", "ChangeLock"], Awaitable["Recovered"]]


class Recovered(NamedTuple):
    """`message` says what was done; `verdict` is the server's, where it was asked to change something."""

    message: str
    verdict: Verdict | None = None
    left_stopped: bool = False


class Recovery:
    """For one cluster."""

    def __init__(
        self, connect: Connect, change_store: ChangeStore, report: Report = no_report, clock: Clock = time.monotonic
    ) -> None:
        self.connect, self.change_store, self.report, self.clock = connect, change_store, report, clock

    async def finish(self, name: str) -> Recovered:
        """Goes on where it was interrupted. NotFound when there is nothing; NotApplied as for any change."""
        return await self._with(name, self._finish)

    async def roll_back(self, name: str) -> Recovered:
        """Offsets and state as they were before."""
        return await self._with(name, self._roll_back)

    async def forget(self, name: str) -> Recovered:
        """Leaves everything as it is now; what was altered is in the history."""

        async def forget(pending: PendingChange, held: ChangeLock) -> Recovered:
            if pending.step is ChangeStep.RESUMING:
                self.change_store.histories.add(pending)
            held.drop()
            return Recovered("forgotten; nothing was changed")

        return await self._with(name, forget)

    async def _with(self, name: str, act: _Act) -> Recovered:
        held = self.change_store.pending.lock(name)
        try:
            if (pending := self.change_store.pending.of(name)) is None:
                raise NotFound(f"no change of the offsets of {name} was interrupted", 404)
            return await act(pending, held)
        finally:
            held.release()

    async def _finish(self, pending: PendingChange, held: ChangeLock) -> Recovered:
        state = await self._state(pending)
        if state is None:
            return self._gone(pending, held)
        operation = self._operation(pending, held, state)
        match pending.step:
            case ChangeStep.STOPPING:
                if state == "STOPPED":
                    return _applied(await operation.go_through())
                return _applied(await operation.run())
            case ChangeStep.ALTERING:
                self._must_be_stopped(pending, state)
                await self._before_or_after(pending, operation)
                return _applied(await operation.alter(pending.before or ()))
            case ChangeStep.RESUMING:
                self.change_store.histories.add(pending)
                return await self._restored(operation, state, "the offsets had been altered")

    async def _roll_back(self, pending: PendingChange, held: ChangeLock) -> Recovered:
        state = await self._state(pending)
        if state is None:
            return self._gone(pending, held)
        operation = self._operation(pending, held, state)
        if pending.step is ChangeStep.STOPPING:
            return await self._restored(operation, state, "nothing had been altered")
        self._must_be_stopped(pending, state)
        if pending.step is ChangeStep.RESUMING:
            self.change_store.histories.add(pending)
        now = await self._before_or_after(pending, operation)
        back = _way_back(pending, now)
        if not back:
            return await self._restored(operation, state, "nothing had been altered")
        plan = pending.plan._replace(base=None, changes=tuple(back), action=OffsetAction.ALTER, why="taken back")
        undo = self._operation(PendingChange(plan, ChangeStep.ALTERING, now, pending.who), held, state)
        return _applied(await undo.alter(now))

    def _operation(self, pending: PendingChange, held: ChangeLock, state: str) -> OffsetOperation:
        operation = OffsetOperation(pending, self.connect, self.change_store, held, self.report, self.clock)
        operation.stopped = state == "STOPPED" and pending.plan.must_stop
        return operation

    async def _state(self, pending: PendingChange) -> str | None:
        """None when the connector is gone."""
        try:
            return model.connector(pending.plan.name, await self.connect.status(pending.plan.name)).state
        except NotFound:
            return None

    def _gone(self, pending: PendingChange, held: ChangeLock) -> Recovered:
        held.drop()
        return Recovered(f"{pending.plan.name} is not there any more: nothing is left to do")

    def _must_be_stopped(self, pending: PendingChange, state: str) -> None:
        if state != "STOPPED":
            name = pending.plan.name
            raise OffsetsNotApplied(
                f"{name} is {state}: somebody has set it going since the change was interrupted",
                f"`get offsets {name}` shows where it is, `finish {name} --forget` leaves it so",
                code=4,
            )

    async def _before_or_after(self, pending: PendingChange, operation: OffsetOperation) -> tuple[Offset, ...]:
        """The offsets now: each that the change means is as it was, or as it should be, or nobody knows whose it is."""
        now = await operation.read()
        there = {partitions.key(entry.partition): entry.offset for entry in now}
        found = []
        for change in pending.plan.changes:
            offset = there.get(partitions.key(change.partition))
            was = _before(pending, change)
            if not (same_offset(offset, was) or same_offset(offset, change.after)):
                found.append(OffsetConflict(change.partition, was, offset))
        if found:
            raise OffsetsNotApplied(
                f"somebody else changed {len(found)} of these offsets since the change was interrupted",
                f"`finish {pending.plan.name} --forget` leaves them as they are",
                code=4,
                conflicts=found,
                now=now,
            )
        return now

    async def _restored(self, operation: OffsetOperation, state: str, what: str) -> Recovered:
        """As it was before, if it stands still because of the change."""
        if operation.stopped:
            await operation.go_on()
            what += f"; {operation.plan.way_back}d"
        operation.held.drop()
        return Recovered(what if operation.stopped or state != "STOPPED" else f"{what}; it stays STOPPED")


def _way_back(pending: PendingChange, now: tuple[Offset, ...]) -> list[OffsetChange]:
    return changes(now, [Offset(change.partition, _before(pending, change)) for change in pending.plan.changes])


def _before(pending: PendingChange, change: OffsetChange) -> object:
    """What it was when the connector stood still."""
    was = {partitions.key(entry.partition): entry.offset for entry in pending.before or ()}
    return was.get(partitions.key(change.partition))


def _applied(done: OffsetsApplied) -> Recovered:
    text = done.verdict.message + (f"; {done.trouble}" if done.trouble else "")
    return Recovered(text, done.verdict, done.left_stopped)
