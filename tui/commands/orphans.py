"""The verbs about offsets whose connector is gone."""

from __future__ import annotations

from typing import Any

from tui import model
from tui.commands.arguments import option, words
from tui.commands.base import ChangingCommand, Command, CommandContext, Danger
from tui.commands.offsets import REASON_HELP
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import each, must_confirm
from tui.errors import NotFound

Json = Any


class GetOrphans(Command):
    """List offsets that outlived their connectors: a new connector of that name would go on from them."""

    verb = "get orphans"

    async def run(self, context: CommandContext) -> Result:
        found = await _orphans(context)
        rows = [(one["connector"], "source", one["partitions"], "") for one in found["sources"]]
        rows += [(one["connector"], "sink", one["partitions"], one["group"]) for one in found["sinks"]]
        table = Table(("NAME", "TYPE", "PARTITIONS", "GROUP"), tuple(sorted(rows)))
        return Result(found, table, names=tuple(sorted(row[0] for row in rows)))


class DeleteOrphans(ChangingCommand):
    """Remove the offsets left over by connectors: those of sources, and with --group those of a sink."""

    verb = "delete orphans"
    danger = Danger.NAME

    names = words("NAME", "as `get orphans` lists them")
    group = option("--group", metavar="GROUP", help="a sink's; it may be another cluster's: look first", convert=str)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    async def run(self, context: CommandContext) -> Result:
        if self.dry_run:
            return await self._preview(context)
        must_confirm(context, self.yes, "remove the offsets left over by", self.names)
        origin = context.notebook.origin(self.reason or "")

        async def act(name: str) -> TargetOutcome:
            answer = await context.connect.remove_orphans(name, self.group, origin)
            return TargetOutcome(name, model.verdict(answer).message, raw=answer)

        return await each(self.names, act)

    async def _preview(self, context: CommandContext) -> Result:
        found = await _orphans(context)
        left = {one["connector"] for one in found["sources" if self.group is None else "sinks"]}
        missing = NotFound("", 404).exit_code
        none = "no offsets of it are left over"
        would = [
            TargetOutcome(n, "would be removed") if n in left else TargetOutcome(n, none, missing) for n in self.names
        ]
        return confirmation(would)


async def _orphans(context: CommandContext) -> Json:
    try:
        return await context.connect.orphaned_offsets()
    except NotFound as error:
        if not error.message.startswith("HTTP 404"):
            raise
        raise NotFound("this worker lists no offsets left over", 404, "only Headrace's workers do") from None
