"""`export offsets` and `import offsets`: committed offsets as `{"connector": [{"partition", "offset"}, …]}`.

The same document as that of `headrace offsets --export` and `--import` (KIP-199), but over REST.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tui import model
from tui.client.versions import ALTER_OFFSETS
from tui.commands.arguments import flag, option, positionals, regex_flag
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.context import CommandCluster, CommandContext, CommandFiles
from tui.commands.offsets.altering import REASON_HELP, STOP_HELP, parse_entries
from tui.commands.offsets.changing import announce, apply_plan, dry_run_outcomes, plan_entries, topic_bounds
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import change_each, for_each, require_confirmation, select_names
from tui.formatting import counted
from tui.model import Offset
from tui.offsets.changes import OffsetChange, changes
from tui.offsets.plan import OffsetPlan
from tui.user_files import parse_json

Json = Any


class ExportOffsets(Command):
    """Write the committed offsets of all or the given connectors as JSON for `import offsets`."""

    verb = "export offsets"

    names = positionals("NAME", "connectors; globs are allowed", at_least=0)
    regex = regex_flag()
    file = option("-f", "--file", metavar="FILE", help="output file; default standard output", convert=str)

    async def run(self, context: CommandContext) -> Result:
        entries_by_name: dict[str, list[Json]] = {}

        async def read(name: str) -> TargetOutcome:
            entries = model.offsets(await context.cluster.connect.offsets(name))
            if entries or self.names:
                entries_by_name[name] = [entry.entry() for entry in entries]
            return TargetOutcome(name, counted(len(entries), "offset"))

        done = await for_each(await select_names(context.cluster.connect, self.names or ("*",), self.regex), read)
        if not any(outcome.failed for outcome in done.outcomes):
            return self._written(context, entries_by_name)
        return self._written(context, entries_by_name)._replace(outcomes=done.outcomes) if entries_by_name else done

    def _written(self, context: CommandContext, entries_by_name: dict[str, list[Json]]) -> Result:
        """Writes the readable connectors to standard output or to the file."""
        total = sum(map(len, entries_by_name.values()))
        summary = f"{counted(total, 'offset')} of {counted(len(entries_by_name), 'connector')}"
        if self.file is None or self.file == "-":
            context.terminal.report(summary)
            return Result(entries_by_name, text=document(entries_by_name), names=tuple(entries_by_name))
        context.files.write(self.file, document(entries_by_name) + "\n")
        context.terminal.report(f"{summary}, written to {self.file}")
        return Result(
            {"file": self.file, "connectors": len(entries_by_name), "offsets": total}, names=tuple(entries_by_name)
        )


def document(entries_by_name: dict[str, list[Json]]) -> str:
    """The document as JSON with one entry per line, so that two documents can be compared by diff."""
    parts = []
    for name, entries in entries_by_name.items():
        rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        parts.append(f"{json.dumps(name, ensure_ascii=False)}: [\n{rows}\n]" if rows else f"{json.dumps(name)}: []")
    return "{\n" + ",\n".join(parts) + "\n}"


class ImportOffsets(ChangingCommand):
    """Set committed offsets from a document. Partitions that are not in it keep their offsets; null resets one."""

    verb = "import offsets"
    danger = Danger.ASK
    needs = ALTER_OFFSETS

    names = positionals("NAME", "only these connectors of the document", at_least=0)
    file = option("-f", "--file", metavar="FILE|-", help="output of `export offsets`", convert=str)
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def check(self) -> None:
        refuse(self.file is None, "-f FILE is required")

    async def run(self, context: CommandContext) -> Result:
        wanted = self._wanted(context.files)
        return await (self._preview if self.dry_run else self._set)(context, wanted)

    def _wanted(self, files: CommandFiles) -> dict[str, list[Json]]:
        where = "standard input" if self.file == "-" else str(self.file)
        content = parse_json(files.read(str(self.file)), where)
        refuse(not isinstance(content, dict) or not content, f"{where}: expected {{connector: [offsets]}}")
        missing = [name for name in self.names if name not in content]
        refuse(bool(missing), f"{where} has no connector {', '.join(missing)}")
        chosen = self.names or tuple(content)
        return {name: parse_entries(json.dumps(content[name]), f"{where}: {name}") for name in chosen if content[name]}

    async def _preview(self, context: CommandContext, wanted: dict[str, list[Json]]) -> Result:
        changes_by_name: dict[str, list[OffsetChange]] = {}

        async def look(name: str) -> TargetOutcome:
            changes_by_name[name] = await _changes(context.cluster, name, wanted[name])
            return TargetOutcome(name, "compared")

        looked = await for_each(wanted, look)
        known = await topic_bounds(context, [change for changes in changes_by_name.values() for change in changes])
        outcomes: list[TargetOutcome] = []
        for compared in looked.outcomes:
            outcomes += (
                [compared]
                if compared.failed
                else dry_run_outcomes(compared.name, known.remarked(changes_by_name[compared.name]))
            )
        return Result([outcome.as_json() for outcome in outcomes], names=tuple(wanted), outcomes=tuple(outcomes))

    async def _set(self, context: CommandContext, wanted: dict[str, list[Json]]) -> Result:
        """Shows all changes, asks once and applies them; continues after a connector that fails."""
        plans: dict[str, OffsetPlan] = {}

        async def look(name: str) -> TargetOutcome:
            if changes := await _changes(context.cluster, name, wanted[name]):
                entries = [change.entry for change in changes]
                plans[name] = await plan_entries(context.cluster, name, entries, stop=self.stop, why=self.reason)
            return TargetOutcome(name, "unchanged")

        looked = {outcome.name: outcome for outcome in (await for_each(wanted, look)).outcomes}
        known = await topic_bounds(context, [change for plan in plans.values() for change in plan.changes])
        for plan in plans.values():
            announce(context.terminal, plan._replace(changes=known.remarked(plan.changes)))
        if plans:
            require_confirmation(context.terminal, self.yes, "set the offsets of", list(plans))

        async def act(name: str) -> TargetOutcome:
            return await apply_plan(context, plans[name]) if name in plans else looked[name]

        return await change_each(wanted, act)


async def _changes(cluster: CommandCluster, name: str, entries: Sequence[Json]) -> list[OffsetChange]:
    """The differences from the connector's current offsets."""
    now = model.offsets(await cluster.connect.offsets(name))
    return list(changes(now, [Offset(entry["partition"], entry["offset"]) for entry in entries]))
