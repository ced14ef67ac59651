"""wait: until a connector has arrived in a state."""

from __future__ import annotations

from tui import model
from tui.commands.arguments import by_regex, duration, one_of, option, word, words
from tui.commands.base import Command, CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import chosen, each
from tui.errors import NotFound, TimedOut, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds between two looks
STATES = ("RUNNING", "STOPPED", "PAUSED", "FAILED", "UNASSIGNED", "DELETED")


class Wait(Command):
    """Wait until connectors and their tasks are in a state. RUNNING wants a task, STOPPED wants none left."""

    verb = "wait connector"

    names = words("NAME", "connectors; globs are fine")
    state = word("STATE", "|".join(STATES), convert=one_of(*STATES))
    regex = by_regex()
    timeout = option("--timeout", metavar="TIME", help="30s unless given; for all of them", convert=duration)

    async def run(self, context: CommandContext) -> Result:
        limit = 30.0 if self.timeout is None else self.timeout
        deadline = context.clock() + limit

        async def act(name: str) -> TargetOutcome:
            now = await self._until(context, deadline, name)
            if now:
                raise TimedOut(f"not {self.state} within {limit:g} s: {now}")
            return TargetOutcome(name, self.state)

        return await each(await chosen(context.connect, self.names, self.regex), act)

    async def _until(self, context: CommandContext, deadline: float, name: str) -> str:
        """Nothing when it has arrived, else what was seen last."""
        pause, seen, reached = FIRST_PAUSE, "", False
        while True:
            try:
                now, arrived = await self._look(context, name)
                reached = True
            except Unreachable as error:
                if not reached:  # never there: waiting on would hide a wrong URL; a restarting worker comes back
                    raise
                now, arrived = error.message, False
            if arrived:
                return ""
            if now != seen:
                context.narrate(f"{name}: {now}")
                seen = now
            left = deadline - context.clock()
            if left <= 0:
                return now
            await context.connect.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)

    async def _look(self, context: CommandContext, name: str) -> tuple[str, bool]:
        """What there is to see, in words, and whether it is what was waited for."""
        try:
            status = await context.connect.status(name)
        except NotFound as error:  # a new connector has no status for a moment
            return error.message, self.state == "DELETED"
        one = model.connector(name, status)
        text = f"{one.overall}, tasks {one.tasks_text}"
        cause = one.traces.partition("\n")[2].partition("\n")[0]
        return f"{text}: {cause}" if cause else text, one.is_in(self.state)
