"""export offsets and import offsets: committed offsets as a document, `{"connector": [{"partition", "offset"}, …]}`.

The same document that `headrace offsets --export` writes and `--import` takes (KIP-199), over REST.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tui import model
from tui.commands.arguments import by_regex, flag, option, words
from tui.commands.base import ChangingCommand, Command, CommandContext, Danger, refuse
from tui.commands.changing import change, limits, planned, tell, would
from tui.commands.offsets import REASON_HELP, STOP_HELP, parse_entries, parse_json
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import chosen, each, must_confirm
from tui.formatting import counted
from tui.model import Offset
from tui.offsets.changes import Change as OffsetChange
from tui.offsets.changes import changes
from tui.offsets.plan import Plan

Json = Any


class ExportOffsets(Command):
    """Write the committed offsets of connectors, all unless some are named, as JSON that `import offsets` takes."""

    verb = "export offsets"

    names = words("NAME", "connectors; globs are fine", at_least=0)
    regex = by_regex()
    file = option("-f", "--file", metavar="FILE", help="standard output unless given", convert=str)

    async def run(self, context: CommandContext) -> Result:
        found: dict[str, list[Json]] = {}

        async def read(name: str) -> TargetOutcome:
            entries = model.offsets(await context.connect.offsets(name))
            if entries or self.names:
                found[name] = [entry.entry() for entry in entries]
            return TargetOutcome(name, counted(len(entries), "offset"))

        done = await each(await chosen(context.connect, self.names or ("*",), self.regex), read)
        if not any(outcome.failed for outcome in done.outcomes):
            return self._written(context, found)
        return self._written(context, found)._replace(outcomes=done.outcomes) if found else done

    def _written(self, context: CommandContext, found: dict[str, list[Json]]) -> Result:
        """Writes the connectors that could be read, to standard output or to the file."""
        total = sum(map(len, found.values()))
        said = f"{counted(total, 'offset')} of {counted(len(found), 'connector')}"
        if self.file is None or self.file == "-":
            context.narrate(said)
            return Result(found, text=document(found), names=tuple(found))
        context.write(self.file, document(found) + "\n")
        context.narrate(f"{said}, written to {self.file}")
        return Result({"file": self.file, "connectors": len(found), "offsets": total}, names=tuple(found))


def document(found: dict[str, list[Json]]) -> str:
    """An entry on a line, so that two of them can be compared."""
    parts = []
    for name, entries in found.items():
        rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        parts.append(f"{json.dumps(name, ensure_ascii=False)}: [\n{rows}\n]" if rows else f"{json.dumps(name)}: []")
    return "{\n" + ",\n".join(parts) + "\n}"


class ImportOffsets(ChangingCommand):
    """Set committed offsets as a document says; partitions it does not name stay as they are, null resets one."""

    verb = "import offsets"
    danger = Danger.ASK

    names = words("NAME", "only these connectors of the document", at_least=0)
    file = option("-f", "--file", metavar="FILE|-", help="as export offsets has written it", convert=str)
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def check(self) -> None:
        refuse(self.file is None, "needs -f FILE")

    async def run(self, context: CommandContext) -> Result:
        wanted = self._wanted(context)
        return await (self._preview if self.dry_run else self._set)(context, wanted)

    def _wanted(self, context: CommandContext) -> dict[str, list[Json]]:
        where = "standard input" if self.file == "-" else str(self.file)
        content = parse_json(context.read(str(self.file)), where)
        refuse(not isinstance(content, dict) or not content, f"{where}: expected {{connector: [offsets]}}")
        missing = [name for name in self.names if name not in content]
        refuse(bool(missing), f"{where} has no connector {', '.join(missing)}")
        chosen = self.names or tuple(content)
        return {name: parse_entries(json.dumps(content[name]), f"{where}: {name}") for name in chosen if content[name]}

    async def _preview(self, context: CommandContext, wanted: dict[str, list[Json]]) -> Result:
        made: dict[str, list[OffsetChange]] = {}

        async def look(name: str) -> TargetOutcome:
            made[name] = await _changes(context, name, wanted[name])
            return TargetOutcome(name, "looked at")

        looked = await each(wanted, look)
        known = await limits(context, [change for some in made.values() for change in some])
        outcomes: list[TargetOutcome] = []
        for one in looked.outcomes:
            outcomes += [one] if one.failed else would(one.name, known.remarked(made[one.name]))
        return Result([outcome.as_json() for outcome in outcomes], names=tuple(wanted), outcomes=tuple(outcomes))

    async def _set(self, context: CommandContext, wanted: dict[str, list[Json]]) -> Result:
        """All is told before the one question; what cannot be set does not spare the rest."""
        plans: dict[str, Plan] = {}

        async def look(name: str) -> TargetOutcome:
            if made := await _changes(context, name, wanted[name]):
                entries = [one.entry for one in made]
                plans[name] = await planned(context, name, entries, stop=self.stop, why=self.reason)
            return TargetOutcome(name, "unchanged")

        looked = {outcome.name: outcome for outcome in (await each(wanted, look)).outcomes}
        known = await limits(context, [change for plan in plans.values() for change in plan.changes])
        for plan in plans.values():
            tell(context, plan._replace(changes=known.remarked(plan.changes)))
        if plans:
            must_confirm(context, self.yes, "set the offsets of", list(plans))

        async def act(name: str) -> TargetOutcome:
            return await change(context, plans[name]) if name in plans else looked[name]

        return await each(wanted, act)


async def _changes(context: CommandContext, name: str, entries: Sequence[Json]) -> list[OffsetChange]:
    """What differs from the offsets that it has."""
    now = model.offsets(await context.connect.offsets(name))
    return list(changes(now, [Offset(entry["partition"], entry["offset"]) for entry in entries]))
