"""wait: until a connector has arrived in a state."""

from __future__ import annotations

from tui import model
from tui.commands.arguments import duration, one_of, option, word
from tui.commands.base import Command, Context
from tui.commands.result import Outcome, Result, confirmation
from tui.errors import NotFound, TimedOut, Unreachable, about

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds between two looks
STATES = ("RUNNING", "STOPPED", "PAUSED", "FAILED", "UNASSIGNED", "DELETED")


class Wait(Command):
    """Wait until a connector and its tasks are in a state. RUNNING wants a task, STOPPED wants none left."""

    verb = "wait connector"

    name = word("NAME")
    state = word("STATE", "|".join(STATES), convert=one_of(*STATES))
    timeout = option("--timeout", metavar="TIME", help="30s unless given", convert=duration)

    async def run(self, context: Context) -> Result:
        limit = 30.0 if self.timeout is None else self.timeout
        started = context.clock()
        pause, seen, reached = FIRST_PAUSE, "", False
        while True:
            try:
                with about(self.name):
                    now, arrived = await self._look(context)
                reached = True
            except Unreachable as error:
                if not reached:  # never there: waiting on would hide a wrong URL; a restarting worker comes back
                    raise
                now, arrived = error.message, False
            if arrived:
                return confirmation([Outcome(self.name, self.state)])
            if now != seen:
                context.narrate(f"{self.name}: {now}")
                seen = now
            if context.clock() - started >= limit:
                raise self._too_late(now, limit)
            await context.connect.sleep(min(pause, max(0.0, limit - (context.clock() - started))))
            pause = min(pause * 1.5, LONGEST_PAUSE)

    async def _look(self, context: Context) -> tuple[str, bool]:
        """What there is to see, in words, and whether it is what was waited for."""
        try:
            status = await context.connect.status(self.name)
        except NotFound as error:  # a new connector has no status for a moment
            return error.message, self.state == "DELETED"
        one = model.connector(self.name, status)
        words = f"{one.overall}, tasks {one.tasks_text}"
        cause = one.traces.partition("\n")[2].partition("\n")[0]
        return f"{words}: {cause}" if cause else words, one.is_in(self.state)

    def _too_late(self, now: str, limit: float) -> TimedOut:
        error = TimedOut(f"not {self.state} within {limit:g} s: {now}")
        error.subject = self.name
        return error
