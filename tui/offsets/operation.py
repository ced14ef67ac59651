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
from tui.offsets.change_store import Notebook
from tui.offsets.changes import Change, Conflict, changes, conflicts, same
from tui.offsets.pending_changes import Held, Intent, Step, at
from tui.offsets.plan import Action, Applied, NotApplied, Plan
from tui.offsets.retry import Clock, Patience, Tell, is_lost

STOPS_WITHIN = 90.0  # seconds
LOOKS_EVERY = 0.25  # seconds between looks at the state while waiting
Again = Callable[[], Awaitable[tuple[Change, ...]]]
TRIES = 3  # of the change itself, where its answer is lost


def silent(step: str) -> None:
    """Nobody listens."""


async def carry_out(
    plan: Plan,
    connect: Connect,
    notebook: Notebook,
    tell: Tell = silent,
    clock: Clock = time.monotonic,
    again: Again | None = None,
) -> Applied:
    """`again` decides anew once the connector, stopped for this, stands still. Raises NotApplied with the server's own
    message where it refused, Conflict while another change of this connector is under way or waits for being finished.
    """
    held = notebook.intents.hold(plan.name)
    try:
        if (left := notebook.intents.of(plan.name)) is not None:
            raise NotApplied(f"an earlier change waits for being finished: {left.text}", _ways_out(plan.name), code=4)
        operation = Operation(Intent(plan, Step.STOPPING, who=notebook.who), connect, notebook, held, tell, clock)
        operation.again = again
        return await operation.run()
    finally:
        held.release()


def _ways_out(name: str) -> str:
    from shlex import quote

    return f"`finish {quote(name)}` goes on, with --back it is taken back, with --forget left as it is"


class Operation:
    """One of them, from its beginning or (recovery) from a step further on."""

    def __init__(
        self, intent: Intent, connect: Connect, notebook: Notebook, held: Held, tell: Tell, clock: Clock
    ) -> None:
        self.intent, self.connect, self.notebook, self.held, self.tell, self.clock = (
            intent, connect, notebook, held, tell, clock,
        )  # fmt: skip
        self.plan, self.name = intent.plan, intent.plan.name
        self.decided = intent.plan.changes
        self.origin = notebook.origin(intent.plan.why)
        self.patience = Patience(connect.sleep, tell, clock)
        self.again: Again | None = None
        self.stopped = False  # by us, or by the console that did not come to its end

    async def run(self) -> Applied:
        """All of it."""
        if self.plan.must_stop:
            try:
                await self.stop()
            except HeadraceError as error:
                raise await self.as_it_was(error) from error
        return await self.go_through()

    async def go_through(self) -> Applied:
        """What comes when it stands still."""
        try:
            before = await self.unchanged()
            if self.again is not None and self.stopped and not await self.decided_again(self.again):
                return await self.nothing_to_do(before)
        except HeadraceError as error:
            raise await self.as_it_was(error) from error
        return await self.alter(before)

    async def stop(self) -> None:
        self.note(Step.STOPPING)
        self.tell("stopping the connector")
        self.stopped = True
        try:
            await self.patience.with_(lambda: self.connect.stop(self.name))
        except Refused as error:
            self.stopped = isinstance(error, ServerError)  # it may have been passed on
            raise
        deadline = self.clock() + STOPS_WITHIN
        while not (seen := await self.look()).is_in("STOPPED"):
            left = f"{counted(len(seen.tasks), 'task')} left"
            if self.clock() > deadline:
                raise TimedOut(f"not STOPPED within {STOPS_WITHIN:g} s: {seen.state}, {left}")
            self.tell(f"waiting for STOPPED: {seen.state}, {left}")
            await self.connect.sleep(LOOKS_EVERY)

    async def look(self) -> model.Connector:
        return model.connector(self.name, await self.patience.with_(lambda: self.connect.status(self.name)))

    async def unchanged(self) -> tuple[Offset, ...]:
        """The offsets that are there now, the same as when the change was decided."""
        self.tell("reading the offsets again")
        now = await self.read()
        if self.plan.base is None:
            return now
        ran = self.plan.ran or self.plan.must_stop
        if found := conflicts(self.plan.base, now, self.plan.changes, ran=ran):
            raise NotApplied(f"somebody else changed {_listed(found)} meanwhile", code=4, conflicts=found, now=now)
        return now

    async def decided_again(self, again: Again) -> bool:
        """A connector gets on until it is stopped: what was meant from where it is, is meant from there."""
        self.tell("looking again where that is")
        made = await self.patience.with_(again)
        self.decided = self.plan.changes
        self.plan = self.plan._replace(changes=made)
        self.intent = replace(self.intent, plan=self.plan)
        return bool(made)

    async def nothing_to_do(self, before: tuple[Offset, ...]) -> Applied:
        await self.go_on()
        self.held.drop()
        verdict = Verdict(Certainty.DEFINITE, "nothing has to be changed: it came there by itself")
        return Applied(verdict, before, before, (), left_stopped=False)

    async def alter(self, before: tuple[Offset, ...]) -> Applied:
        """From here on the change may be there."""
        self.note(Step.ALTERING, before)
        self.tell("altering the offsets" if self.plan.action is Action.ALTER else "resetting the offsets")
        try:
            verdict = await self.answered()
        except HeadraceError as error:
            raise await self.as_it_was(error, before) from error
        return await self.afterwards(verdict, before)

    async def answered(self, tries: int = TRIES) -> Verdict:
        """The same change twice is the same: where no answer comes, it is asked for again as soon as the cluster is
        back, and then looked for."""
        try:
            return await self.ask()
        except HeadraceError as error:
            if not is_lost(error):
                raise
            lost = error
        self.tell(f"{lost.message}: asking again, which does the same")
        try:
            missing = differing(self.plan.changes, await self.read())
        except NotFound:
            if self.plan.action is not Action.DELETE:
                raise
            return Verdict(Certainty.POSSIBLE, f"{lost.message}; looked again, the connector is gone")
        if tries > 1:
            return await self.answered(tries - 1)
        if missing:
            raise lost
        return Verdict(Certainty.POSSIBLE, f"{lost.message}; read again, the offsets are as they should be")

    async def ask(self) -> Verdict:
        if self.plan.action is Action.ALTER:
            entries = [change.entry for change in self.plan.changes]
            return model.verdict(await self.connect.alter_offsets(self.name, entries, self.origin))
        verdict = model.verdict(await self.connect.reset_offsets(self.name, self.origin))
        if self.plan.action is Action.DELETE:
            self.tell("deleting the connector")
            await self.connect.delete(self.name)
        return verdict

    async def afterwards(self, verdict: Verdict, before: tuple[Offset, ...]) -> Applied:
        """The change is made: whatever fails from here on must not look as if it were not."""
        self.note(Step.RESUMING, before)
        if self.plan.action is Action.DELETE:
            self.finished()
            return Applied(verdict, before, (), (), left_stopped=False)
        after, differs, left_stopped, trouble = before, tuple[Change, ...](), self.stopped, ""
        try:
            self.tell("reading the offsets back")
            after = await self.read()
            differs = differing(self.plan.changes, after)
            self.notebook.histories.add(self.intent)
            if self.stopped and verdict.certainty is Certainty.DEFINITE and not differs:
                await self.go_on()
                left_stopped = False
            self.held.drop()
        except HeadraceError as error:
            trouble = f"the offsets were changed, but then: {error.message}"
        moved = _moved(self.decided, made_from(self.plan.changes, before))
        return Applied(verdict, before, after, differs, left_stopped, trouble, moved)

    def finished(self) -> None:
        self.notebook.histories.add(self.intent)
        self.held.drop()

    async def as_it_was(self, error: HeadraceError, before: tuple[Offset, ...] | None = None) -> NotApplied:
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
        if isinstance(error, NotApplied):
            error.stopped, error.unfinished, error.advice = stopped, unfinished, advice
            return error
        return NotApplied(error.message, advice, code=error.exit_code, stopped=stopped, unfinished=unfinished, now=now)

    async def taken_back(self, before: tuple[Offset, ...]) -> tuple[Offset, ...]:
        """A refusal may come when half of it was done; the offsets that are there in the end."""
        now = await self.read()
        keys = {partitions.key(change.partition) for change in self.plan.changes}
        wanted = [Offset(entry.partition, None) for entry in now if partitions.key(entry.partition) in keys]
        wanted += [entry for entry in before if partitions.key(entry.partition) in keys]
        last = {partitions.key(entry.partition): entry for entry in wanted}
        if half := changes(now, list(last.values())):
            self.tell("taking back what was altered")
            entries = [change.entry for change in half]
            await self.patience.with_(lambda: self.connect.alter_offsets(self.name, entries, self.origin))
            return await self.read()
        return now

    async def go_on(self) -> None:
        self.tell(f"{self.plan.way_back}: the connector goes on as it was")
        back = self.connect.pause if self.plan.way_back == "pause" else self.connect.resume
        await self.patience.with_(lambda: back(self.name))

    async def read(self) -> tuple[Offset, ...]:
        return model.offsets(await self.patience.with_(lambda: self.connect.offsets(self.name)))

    def note(self, step: Step, before: tuple[Offset, ...] | None = None) -> None:
        self.intent = at(self.intent, step, before)
        self.held.write(self.intent)


def differing(made: Sequence[Change], after: Sequence[Offset]) -> tuple[Change, ...]:
    """Changes that are not found there."""
    there = {partitions.key(entry.partition): entry.offset for entry in after}
    return tuple(change for change in made if not same(there.get(partitions.key(change.partition)), change.after))


def made_from(made: Sequence[Change], before: Sequence[Offset]) -> tuple[Change, ...]:
    """The same, from where it really was; what that means in records was counted from elsewhere."""
    was = {partitions.key(entry.partition): entry.offset for entry in before}
    return tuple(
        change if same(change.before, now) else replace(change, before=now, effect=None)
        for change in made
        for now in (was.get(partitions.key(change.partition)),)
    )


def _moved(decided: Sequence[Change], made: tuple[Change, ...]) -> tuple[Change, ...]:
    """Those that are not what was decided."""
    known = {partitions.key(change.partition): change for change in decided}
    return tuple(
        change
        for change in made
        if (old := known.get(partitions.key(change.partition))) is None
        or not (same(old.before, change.before) and same(old.after, change.after))
    )


def _listed(found: Sequence[Conflict]) -> str:
    parts = [
        f"{partitions.shown(one.partition)} ({partitions.shown_offset(one.was)} → {partitions.shown_offset(one.now)})"
        for one in found[:3]
    ]
    return ", ".join(parts) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
