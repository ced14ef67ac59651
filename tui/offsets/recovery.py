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
from tui.offsets.change_store import Notebook
from tui.offsets.changes import Change, Conflict, changes, same
from tui.offsets.operation import Operation, silent
from tui.offsets.pending_changes import Held, Intent, Step
from tui.offsets.plan import Action, Applied, NotApplied
from tui.offsets.retry import Clock, Tell

_Act = Callable[["Intent", "Held"], Awaitable["Recovered"]]


class Recovered(NamedTuple):
    """`message` says what was done; `verdict` is the server's, where it was asked to change something."""

    message: str
    verdict: Verdict | None = None
    left_stopped: bool = False


class Recovery:
    """For one cluster."""

    def __init__(
        self, connect: Connect, notebook: Notebook, tell: Tell = silent, clock: Clock = time.monotonic
    ) -> None:
        self.connect, self.notebook, self.tell, self.clock = connect, notebook, tell, clock

    async def finish(self, name: str) -> Recovered:
        """Goes on where it was interrupted. NotFound when there is nothing; NotApplied as for any change."""
        return await self._with(name, self._finish)

    async def take_back(self, name: str) -> Recovered:
        """Offsets and state as they were before."""
        return await self._with(name, self._take_back)

    async def forget(self, name: str) -> Recovered:
        """Leaves everything as it is now; what was altered is in the history."""

        async def forget(intent: Intent, held: Held) -> Recovered:
            if intent.step is Step.RESUMING:
                self.notebook.histories.add(intent)
            held.drop()
            return Recovered("forgotten; nothing was changed")

        return await self._with(name, forget)

    async def _with(self, name: str, act: _Act) -> Recovered:
        held = self.notebook.intents.hold(name)
        try:
            if (intent := self.notebook.intents.of(name)) is None:
                raise NotFound(f"no change of the offsets of {name} was interrupted", 404)
            return await act(intent, held)
        finally:
            held.release()

    async def _finish(self, intent: Intent, held: Held) -> Recovered:
        state = await self._state(intent)
        if state is None:
            return self._gone(intent, held)
        operation = self._operation(intent, held, state)
        match intent.step:
            case Step.STOPPING:
                if state == "STOPPED":
                    return _applied(await operation.go_through())
                return _applied(await operation.run())
            case Step.ALTERING:
                self._must_be_stopped(intent, state)
                await self._before_or_after(intent, operation)
                return _applied(await operation.alter(intent.before or ()))
            case Step.RESUMING:
                self.notebook.histories.add(intent)
                return await self._restored(operation, state, "the offsets had been altered")

    async def _take_back(self, intent: Intent, held: Held) -> Recovered:
        state = await self._state(intent)
        if state is None:
            return self._gone(intent, held)
        operation = self._operation(intent, held, state)
        if intent.step is Step.STOPPING:
            return await self._restored(operation, state, "nothing had been altered")
        self._must_be_stopped(intent, state)
        if intent.step is Step.RESUMING:
            self.notebook.histories.add(intent)
        now = await self._before_or_after(intent, operation)
        back = _way_back(intent, now)
        if not back:
            return await self._restored(operation, state, "nothing had been altered")
        plan = intent.plan._replace(base=None, changes=tuple(back), action=Action.ALTER, why="taken back")
        undo = self._operation(Intent(plan, Step.ALTERING, now, intent.who), held, state)
        return _applied(await undo.alter(now))

    def _operation(self, intent: Intent, held: Held, state: str) -> Operation:
        operation = Operation(intent, self.connect, self.notebook, held, self.tell, self.clock)
        operation.stopped = state == "STOPPED" and intent.plan.must_stop
        return operation

    async def _state(self, intent: Intent) -> str | None:
        """None when the connector is gone."""
        try:
            return model.connector(intent.plan.name, await self.connect.status(intent.plan.name)).state
        except NotFound:
            return None

    def _gone(self, intent: Intent, held: Held) -> Recovered:
        held.drop()
        return Recovered(f"{intent.plan.name} is not there any more: nothing is left to do")

    def _must_be_stopped(self, intent: Intent, state: str) -> None:
        if state != "STOPPED":
            name = intent.plan.name
            raise NotApplied(
                f"{name} is {state}: somebody has set it going since the change was interrupted",
                f"`get offsets {name}` shows where it is, `finish {name} --forget` leaves it so",
                code=4,
            )

    async def _before_or_after(self, intent: Intent, operation: Operation) -> tuple[Offset, ...]:
        """The offsets now: each that the change means is as it was, or as it should be, or nobody knows whose it is."""
        now = await operation.read()
        there = {partitions.key(entry.partition): entry.offset for entry in now}
        found = []
        for change in intent.plan.changes:
            offset = there.get(partitions.key(change.partition))
            was = _before(intent, change)
            if not (same(offset, was) or same(offset, change.after)):
                found.append(Conflict(change.partition, was, offset))
        if found:
            raise NotApplied(
                f"somebody else changed {len(found)} of these offsets since the change was interrupted",
                f"`finish {intent.plan.name} --forget` leaves them as they are",
                code=4,
                conflicts=found,
                now=now,
            )
        return now

    async def _restored(self, operation: Operation, state: str, what: str) -> Recovered:
        """As it was before, if it stands still because of the change."""
        if operation.stopped:
            await operation.go_on()
            what += f"; {operation.plan.way_back}d"
        operation.held.drop()
        return Recovered(what if operation.stopped or state != "STOPPED" else f"{what}; it stays STOPPED")


def _way_back(intent: Intent, now: tuple[Offset, ...]) -> list[Change]:
    return changes(now, [Offset(change.partition, _before(intent, change)) for change in intent.plan.changes])


def _before(intent: Intent, change: Change) -> object:
    """What it was when the connector stood still."""
    was = {partitions.key(entry.partition): entry.offset for entry in intent.before or ()}
    return was.get(partitions.key(change.partition))


def _applied(done: Applied) -> Recovered:
    text = done.verdict.message + (f"; {done.trouble}" if done.trouble else "")
    return Recovered(text, done.verdict, done.left_stopped)
