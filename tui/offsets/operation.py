"""A change of offsets as one operation:

    stop (if it must be) → read → did anybody change it? → alter → read back → into the history → as it was before

Each step is noted on disk before it is taken. What fails leaves the connector as it was, offsets and state. Where that
cannot be done because the cluster does not answer, the note stays: `recovery` goes on from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tui import model
from tui.client import Connect
from tui.errors import HeadraceError, NotFound, Refused, TimedOut, Unreachable, WrongState
from tui.model import Certainty, Offset, Verdict
from tui.offsets import partitions
from tui.offsets.changes import Change, Conflict, changes, conflicts, same
from tui.offsets.intents import Held, Intent, Step, at
from tui.offsets.notebook import Notebook
from tui.offsets.plan import Action, Applied, NotApplied, Plan

STOPS_WITHIN = 90.0  # seconds
LOOKS_EVERY = 0.25  # seconds between looks at the state while waiting

Tell = Callable[[str], None]
Clock = Callable[[], float]


def silent(step: str) -> None:
    """Nobody listens."""


async def carry_out(
    plan: Plan, connect: Connect, notebook: Notebook, tell: Tell = silent, clock: Clock = time.monotonic
) -> Applied:
    """Raises NotApplied with the server's own message where it refused, Conflict while another change of this
    connector is under way or waits for being finished."""
    held = notebook.intents.hold(plan.name)
    try:
        if (left := notebook.intents.of(plan.name)) is not None:
            raise NotApplied(f"an earlier change waits for being finished: {left.text}", _ways_out(plan.name), code=4)
        return await Operation(
            Intent(plan, Step.STOPPING, who=notebook.who), connect, notebook, held, tell, clock
        ).run()
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
        self.origin = notebook.origin(intent.plan.why)
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
        except HeadraceError as error:
            raise await self.as_it_was(error) from error
        return await self.alter(before)

    async def stop(self) -> None:
        self.note(Step.STOPPING)
        self.tell("stopping the connector")
        self.stopped = True
        try:
            await self.connect.stop(self.name)
        except Refused:
            self.stopped = False
            raise
        deadline = self.clock() + STOPS_WITHIN
        while (seen := await self.look()) is None or not seen.is_in("STOPPED"):
            now = "it does not answer" if seen is None else f"{seen.state}, {len(seen.tasks)} tasks left"
            if self.clock() > deadline:
                raise TimedOut(f"not STOPPED within {STOPS_WITHIN:g} s: {now}")
            self.tell(f"waiting for STOPPED: {now}")
            await self.connect.sleep(LOOKS_EVERY)

    async def look(self) -> model.Connector | None:
        """A worker that is away for a moment is waited for."""
        try:
            return model.connector(self.name, await self.connect.status(self.name))
        except Unreachable:
            return None

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

    async def alter(self, before: tuple[Offset, ...]) -> Applied:
        """From here on the change may be there."""
        self.note(Step.ALTERING, before)
        self.tell("altering the offsets" if self.plan.action is Action.ALTER else "resetting the offsets")
        try:
            verdict = await self.answered()
        except HeadraceError as error:
            raise await self.as_it_was(error, before) from error
        return await self.afterwards(verdict, before)

    async def answered(self) -> Verdict:
        """The same change twice is the same: where no answer comes, it is asked for again, and then looked for."""
        try:
            return await self.ask()
        except (TimedOut, Unreachable) as error:
            lost = error
        self.tell(f"{lost.message}: asking again, which does the same")
        try:
            return await self.ask()
        except (TimedOut, Unreachable):
            if differing(self.plan.changes, await self.read()):
                raise lost from None
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
        return Applied(verdict, before, after, differs, left_stopped, trouble)

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
            unfinished = isinstance(trouble, TimedOut | Unreachable)
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
            await self.connect.alter_offsets(self.name, [change.entry for change in half], self.origin)
            return await self.read()
        return now

    async def go_on(self) -> None:
        self.tell(f"{self.plan.way_back}: the connector goes on as it was")
        if self.plan.way_back == "pause":
            await self.connect.pause(self.name)
        else:
            await self.connect.resume(self.name)

    async def read(self) -> tuple[Offset, ...]:
        return model.offsets(await self.connect.offsets(self.name))

    def note(self, step: Step, before: tuple[Offset, ...] | None = None) -> None:
        self.intent = at(self.intent, step, before)
        self.held.write(self.intent)


def differing(made: Sequence[Change], after: Sequence[Offset]) -> tuple[Change, ...]:
    """Changes that are not found there."""
    there = {partitions.key(entry.partition): entry.offset for entry in after}
    return tuple(change for change in made if not same(there.get(partitions.key(change.partition)), change.after))


def _listed(found: Sequence[Conflict]) -> str:
    parts = [
        f"{partitions.shown(one.partition)} ({partitions.shown_offset(one.was)} → {partitions.shown_offset(one.now)})"
        for one in found[:3]
    ]
    return ", ".join(parts) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
