"""The verbs for a worker's loggers: list and set levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui.client import versions
from tui.commands.arguments import choice, option, positional, positionals
from tui.commands.base import ChangingCommand, Command, refuse
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import is_glob, matches
from tui.errors import UNSUPPORTED, NotFound
from tui.formatting import utc_time

if TYPE_CHECKING:
    from tui.client.client import Connect

Json = Any
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")


class GetLoggers(Command):
    """List the loggers with a level of their own, on the worker that handles the request."""

    verb = "get loggers"

    names = positionals("NAME", "only these loggers; globs are allowed", at_least=0)

    async def run(self, context: CommandContext) -> Result:
        every = await context.cluster.connect.loggers()
        for name in self.names:
            if not any(matches(logger, [name]) for logger in every):
                raise NotFound(f"no logger matches {name}" if is_glob(name) else f"Logger {name} not found.", 404)
        shown = {name: every[name] for name in sorted(every) if not self.names or matches(name, self.names)}
        rows = tuple((name, logger.get("level"), _time(logger.get("last_modified"))) for name, logger in shown.items())
        return Result(shown, Table(("LOGGER", "LEVEL", "CHANGED"), rows), names=tuple(shown))


def _time(milliseconds: Any) -> str:
    """The time in UTC; empty if the level was never changed over REST."""
    return utc_time(milliseconds) if isinstance(milliseconds, int) else ""


class PatchLogger(ChangingCommand):
    """Set the level of a logger and its descendants until the worker restarts."""

    verb = "patch logger"

    name = positional("NAME", "for example org.apache.kafka.connect, or root")
    level = option("-l", "--level", metavar="LEVEL", help="|".join(LEVELS), convert=choice(*LEVELS))
    scope = option(
        "-s",
        "--scope",
        metavar="worker|cluster",
        help="this worker (default) or all workers",
        convert=choice("worker", "cluster"),
    )

    def check(self) -> None:
        refuse(self.level is None, "-l LEVEL is required")

    async def run(self, context: CommandContext) -> Result:
        scope, level = self.scope or "worker", str(self.level)
        if self.dry_run:
            if scope == "cluster":
                await context.cluster.connect.require(versions.CLUSTER_LOGGERS)
            before = (await context.cluster.connect.loggers()).get(self.name) or {}
            was = before.get("level") or "inherited"
            return confirmation([TargetOutcome(self.name, f"would be {level} on the {scope}, now {was}")])
        changed = await context.cluster.connect.set_level(self.name, level, scope)
        if not isinstance(changed, list):  # a change for the whole cluster reports no count
            return confirmation([TargetOutcome(self.name, f"{level} on all workers")])
        if scope == "cluster":
            message = await one_worker(context.cluster.connect, level)
            return confirmation([TargetOutcome(self.name, message, UNSUPPORTED, raw=changed)])
        return confirmation([TargetOutcome(self.name, f"{level} for {_counted(len(changed))}", raw=changed)])


async def one_worker(connect: Connect, level: str) -> str:
    """The effect of a change for all workers where a worker ignores the scope."""
    reason = await connect.missing(versions.CLUSTER_LOGGERS)
    return f"{level} on one worker only, the one that responded" + (f": {reason}" if reason else "")


def _counted(number: int) -> str:
    return "1 logger" if number == 1 else f"{number} loggers" if number else "no existing logger"
