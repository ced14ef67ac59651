"""Recovery of a change of offsets that was interrupted: finish it, roll it back, or forget it."""

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
from tui.offsets.plan import OffsetsApplied, OffsetsNotApplied, PlanAction
from tui.offsets.retry import Clock, Report

_Act = Callable[["PendingChange", "ChangeLock"], Awaitable["Recovered"]]


class Recovered(NamedTuple):
    """The outcome of a recovery; `verdict` is the server's response if a change was sent."""

    message: str
    verdict: Verdict | None = None
    left_stopped: bool = False


class Recovery:
    """Recovers interrupted changes of one cluster. Every method raises NotFound if there is no such change."""

    def __init__(
        self, connect: Connect, change_store: ChangeStore, report: Report = no_report, clock: Clock = time.monotonic
    ) -> None:
        self.connect, self.change_store, self.report, self.clock = connect, change_store, report, clock

    async def finish(self, name: str) -> Recovered:
        """Continues from the interrupted step. Raises OffsetsNotApplied as any change does."""
        return await self._with(name, self._finish)

    async def roll_back(self, name: str) -> Recovered:
        """Restores offsets and state from before the change. Raises OffsetsNotApplied."""
        return await self._with(name, self._roll_back)

    async def forget(self, name: str) -> Recovered:
        """Changes nothing on the cluster; offsets that were altered are recorded in the history."""

        async def forget(pending: PendingChange, lock: ChangeLock) -> Recovered:
            if pending.step is ChangeStep.RESUMING:
                self.change_store.histories.add(pending)
            lock.drop()
            return Recovered("forgotten; offsets and state are unchanged")

        return await self._with(name, forget)

    async def _with(self, name: str, act: _Act) -> Recovered:
        lock = self.change_store.pending.lock(name)
        try:
            if (pending := self.change_store.pending.of(name)) is None:
                raise NotFound(f"{name} has no interrupted change of offsets", 404)
            return await act(pending, lock)
        finally:
            lock.release()

    async def _finish(self, pending: PendingChange, lock: ChangeLock) -> Recovered:
        state = await self._state(pending)
        if state is None:
            return self._abandoned(pending, lock)
        operation = self._operation(pending, lock, state)
        match pending.step:
            case ChangeStep.STOPPING:
                if not pending.plan.must_stop:  # someone else had stopped the connector
                    self._must_be_stopped(pending, state)
                if state == "STOPPED":
                    return _applied(await operation.change_offsets())
                return _applied(await operation.run())
            case ChangeStep.ALTERING:
                self._must_be_stopped(pending, state)
                await self._offsets_if_unchanged(pending, operation)
                return _applied(await operation.alter(pending.before or ()))
            case ChangeStep.RESUMING:
                self.change_store.histories.add(pending)
                return await self._restored(operation, state, "the offsets had been altered")

    async def _roll_back(self, pending: PendingChange, lock: ChangeLock) -> Recovered:
        state = await self._state(pending)
        if state is None:
            return self._abandoned(pending, lock)
        operation = self._operation(pending, lock, state)
        if pending.step is ChangeStep.STOPPING:
            return await self._restored(operation, state, "no offsets had been altered")
        self._must_be_stopped(pending, state)
        if pending.step is ChangeStep.RESUMING:
            self.change_store.histories.add(pending)
        now = await self._offsets_if_unchanged(pending, operation)
        undo = _undo(pending, now)
        if not undo:
            return await self._restored(operation, state, "no offsets had been altered")
        plan = pending.plan._replace(base=None, changes=tuple(undo), action=PlanAction.ALTER, why="rolled back")
        operation = self._operation(PendingChange(plan, ChangeStep.ALTERING, now, pending.who), lock, state)
        return _applied(await operation.alter(now))

    def _operation(self, pending: PendingChange, lock: ChangeLock, state: str) -> OffsetOperation:
        operation = OffsetOperation(pending, self.connect, self.change_store, lock, self.report, self.clock)
        operation.stopped = state == "STOPPED" and pending.plan.must_stop
        return operation

    async def _state(self, pending: PendingChange) -> str | None:
        """The state of the connector; None if it no longer exists."""
        try:
            return model.connector(pending.plan.name, await self.connect.status(pending.plan.name)).state
        except NotFound:
            return None

    def _abandoned(self, pending: PendingChange, lock: ChangeLock) -> Recovered:
        lock.drop()
        return Recovered(f"{pending.plan.name} no longer exists: nothing to do")

    def _must_be_stopped(self, pending: PendingChange, state: str) -> None:
        if state != "STOPPED":
            name = pending.plan.name
            raise OffsetsNotApplied(
                f"{name} is {state}: someone resumed it after the change was interrupted",
                f"`get offsets {name}` shows its offsets, `finish {name} --forget` keeps them",
                code=4,
            )

    async def _offsets_if_unchanged(self, pending: PendingChange, operation: OffsetOperation) -> tuple[Offset, ...]:
        """The current offsets. Raises OffsetsNotApplied if any differs from those before and after the change."""
        now = await operation.read()
        stored = {partitions.key(entry.partition): entry.offset for entry in now}
        conflicts = []
        for change in pending.plan.changes:
            offset = stored.get(partitions.key(change.partition))
            was = _before(pending, change)
            if not (same_offset(offset, was) or same_offset(offset, change.after)):
                conflicts.append(OffsetConflict(change.partition, was, offset))
        if conflicts:
            raise OffsetsNotApplied(
                f"someone else changed {len(conflicts)} of these offsets after the change was interrupted",
                f"`finish {pending.plan.name} --forget` keeps them",
                code=4,
                conflicts=conflicts,
                now=now,
            )
        return now

    async def _restored(self, operation: OffsetOperation, state: str, what: str) -> Recovered:
        """Restores the connector's state if the change had stopped it."""
        if operation.stopped:
            await operation.restore_state()
            what += f"; {operation.plan.restoring_verb}d"
        operation.lock.drop()
        return Recovered(what if operation.stopped or state != "STOPPED" else f"{what}; the connector stays STOPPED")


def _undo(pending: PendingChange, now: tuple[Offset, ...]) -> list[OffsetChange]:
    return changes(now, [Offset(change.partition, _before(pending, change)) for change in pending.plan.changes])


def _before(pending: PendingChange, change: OffsetChange) -> object:
    """The offset from before the change, when the connector was stopped."""
    was = {partitions.key(entry.partition): entry.offset for entry in pending.before or ()}
    return was.get(partitions.key(change.partition))


def _applied(done: OffsetsApplied) -> Recovered:
    text = done.verdict.message + (f"; {done.trouble}" if done.trouble else "")
    return Recovered(text, done.verdict, done.left_stopped)
