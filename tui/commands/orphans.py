"""get orphans: offsets whose connector is gone."""

from __future__ import annotations

from tui.commands.base import Command, Context
from tui.commands.result import Result, Table
from tui.errors import NotFound


class GetOrphans(Command):
    """List offsets that outlived their connectors: a new connector of that name would go on from them."""

    verb = "get orphans"

    async def run(self, context: Context) -> Result:
        try:
            found = await context.connect.orphaned_offsets()
        except NotFound as error:
            error.advice = "only Headrace's workers list them"
            raise
        rows = [(one["connector"], "source", one["partitions"], "") for one in found["sources"]]
        rows += [(one["connector"], "sink", one["partitions"], one["group"]) for one in found["sinks"]]
        table = Table(("NAME", "TYPE", "PARTITIONS", "GROUP"), tuple(sorted(rows)))
        return Result(found, table, names=tuple(sorted(row[0] for row in rows)))
