"""`get events`: follows the event stream of a Headrace worker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from tui import model
from tui.client import checking, sse
from tui.commands.arguments import duration, integer, option, positionals
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table
from tui.commands.targets import matches
from tui.errors import NotFound

Json = Any
DEFAULT_DURATION = 10.0  # seconds
COLUMNS = ("TIME", "EVENT", "CONNECTOR", "WHAT")


class GetEvents(Command):
    """Follow the events of a cluster of Headrace workers until ^C: state changes, removals, log lines.

    Progress events, which arrive every few seconds, are not in the table: use -o wide or -o jsonl.
    """

    verb = "get events"

    names = positionals("NAME", "only events of these connectors; globs are allowed", at_least=0)
    limit = option("-n", "--limit", metavar="N", help="end after N events", convert=integer)
    lasting = option("--for", metavar="TIME", help="end after this time", convert=duration)

    async def run(self, context: CommandContext) -> Result:
        lasting = self.lasting
        if lasting is None and not context.terminal.emits:  # the result is shown only at the end
            lasting = DEFAULT_DURATION
            context.terminal.report(f"listening for {lasting:g} s")
        seen: list[Json] = []
        try:
            async with aclosing(context.cluster.connect.lines("/events", lasting)) as lines:
                async for event in _events(lines):
                    if self._wants(event):
                        seen.append(event)
                        context.terminal.emit(event, self.output or "table", row(event))
                    if self.limit is not None and len(seen) >= self.limit:
                        break
        except NotFound as error:
            raise NotFound(
                "this worker has no event stream", error.status, "only Headrace workers send events"
            ) from None
        if context.terminal.emits:
            return Result()
        return Result(seen, Table(COLUMNS, tuple(map(row, seen))), names=tuple(e["connector"] for e in seen))

    def _wants(self, event: Json) -> bool:
        if event["event"] == "progress" and self.output in (None, "table"):
            return False
        return not self.names or matches(event["connector"], self.names)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Json]:
    """The events as flat objects, without the snapshot at the start of the stream."""
    async for event in sse.parse(lines):
        if event.name == "snapshot":
            continue
        data = checking.event(event.name, event.data)
        name = str(data.get("name") or data.get("connector") or "")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        yield {"time": now, "event": event.name, "connector": name, "data": data}


def row(event: Json) -> tuple[str, ...]:
    """The event as a table row, by COLUMNS."""
    return (event["time"][11:19], event["event"], event["connector"], _description(event["event"], event["data"]))


def _description(kind: str, data: Json) -> str:
    if kind == "connector":
        connector = model.connector(str(data.get("name")), data.get("status"), data.get("info"))
        return f"{connector.overall}, tasks {connector.tasks_text}"
    if kind == "removed":
        return "removed"
    return str(data.get("message") or json.dumps(data))
