"""`wait`: waits until connectors are in a state."""

from __future__ import annotations

from tui import model
from tui.commands.arguments import choice, duration, option, positional, positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import for_each, select_names
from tui.errors import NotFound, TimedOut, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds between two requests
STATES = ("RUNNING", "STOPPED", "PAUSED", "FAILED", "UNASSIGNED", "DELETED")


class Wait(Command):
    """Wait until connectors and their tasks are in a state. RUNNING requires a task, STOPPED requires none; --for also
    requires that they remain in the state, since a start may fail with its first records."""

    verb = "wait connector"

    names = positionals("NAME", "connectors; globs are allowed")
    state = positional("STATE", "|".join(STATES), convert=choice(*STATES))
    regex = regex_flag()
    lasting = option("--for", metavar="TIME", help="time to remain in the state; default 0s", convert=duration)
    timeout = option("--timeout", metavar="TIME", help="total limit; default 30s", convert=duration)

    async def run(self, context: CommandContext) -> Result:
        limit = 30.0 if self.timeout is None else self.timeout
        deadline = context.clock() + limit

        async def act(name: str) -> TargetOutcome:
            now = await self._until(context, deadline, name)
            if now:
                lasting = f" for {self.lasting:g} s" if self.lasting else ""
                raise TimedOut(f"not {self.state}{lasting} within {limit:g} s: {now}")
            return TargetOutcome(name, self.state)

        return await for_each(await select_names(context.cluster.connect, self.names, self.regex), act)

    async def _until(self, context: CommandContext, deadline: float, name: str) -> str:
        """The last state seen; empty once the desired state is reached and has lasted."""
        pause, seen, reached, since = FIRST_PAUSE, "", False, None
        while True:
            try:
                now, arrived = await self._look(context.cluster, name)
                reached = True
            except Unreachable as error:
                if not reached:  # only a worker that has responded before may be restarting
                    raise
                now, arrived = error.message, False
            time = context.clock()
            since = (time if since is None else since) if arrived else None
            if since is not None and time - since >= (self.lasting or 0.0):
                return ""
            if now != seen:
                context.terminal.report(f"{name}: {now}")
                seen = now
            left = deadline - time
            if left <= 0:
                return now
            await context.cluster.connect.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)

    async def _look(self, cluster: CommandCluster, name: str) -> tuple[str, bool]:
        """The current state as text, and whether it is the desired one."""
        try:
            status = await cluster.connect.status(name)
            info = await cluster.connect.info(name)
        except NotFound as error:  # a new connector has no status for a moment
            return error.message, self.state == "DELETED"
        connector = model.connector(name, status, info)
        text = f"{connector.overall}, tasks {connector.tasks_text}"
        cause = connector.traces.partition("\n")[2].partition("\n")[0]
        return f"{text}: {cause}" if cause else text, connector.is_in(self.state)
