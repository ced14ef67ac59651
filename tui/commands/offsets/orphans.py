"""The verbs for orphaned offsets: those of deleted connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import model
from tui.commands.arguments import option, positionals
from tui.commands.base import ChangingCommand, Command, Danger
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.offsets.altering import REASON_HELP
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import change_each, require_confirmation
from tui.errors import NotFound

if TYPE_CHECKING:
    from tui.client.responses import OrphansResponse


class GetOrphans(Command):
    """List orphaned offsets. A new connector of the same name would continue from them."""

    verb = "get orphans"

    async def run(self, context: CommandContext) -> Result:
        response = await _orphans(context.cluster)
        rows = [(source["connector"], "source", source["partitions"], "") for source in response["sources"]]
        rows += [(sink["connector"], "sink", sink["partitions"], sink["group"]) for sink in response["sinks"]]
        table = Table(("NAME", "TYPE", "PARTITIONS", "GROUP"), tuple(sorted(rows)))
        return Result(response, table, names=tuple(sorted(row[0] for row in rows)))


class DeleteOrphans(ChangingCommand):
    """Delete orphaned offsets of sources, or with --group those of a sink."""

    verb = "delete orphans"
    danger = Danger.NAME

    names = positionals("NAME", "as listed by `get orphans`")
    group = option(
        "--group",
        metavar="GROUP",
        help="consumer group of a sink; make sure that no other cluster uses it",
        convert=str,
    )
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    async def run(self, context: CommandContext) -> Result:
        if self.dry_run:
            return await self._preview(context)
        require_confirmation(context.terminal, self.yes, "delete the orphaned offsets of", self.names)
        origin = context.cluster.change_store.origin(self.reason or "")

        async def act(name: str) -> TargetOutcome:
            response = await context.cluster.connect.remove_orphans(name, self.group, origin)
            return TargetOutcome(name, model.verdict(response).message, raw=response)

        return await change_each(self.names, act)

    async def _preview(self, context: CommandContext) -> Result:
        response = await _orphans(context.cluster)
        left = {source["connector"] for source in response["sources" if self.group is None else "sinks"]}
        missing = NotFound("", 404).exit_code
        none = "has no orphaned offsets"
        would = [
            TargetOutcome(n, "would be deleted") if n in left else TargetOutcome(n, none, missing) for n in self.names
        ]
        return confirmation(would)


async def _orphans(cluster: CommandCluster) -> OrphansResponse:
    try:
        return await cluster.connect.orphaned_offsets()
    except NotFound as error:
        if not error.message.startswith("HTTP 404"):
            raise
        raise NotFound("this worker cannot list orphaned offsets", 404, "only Headrace workers list them") from None
