"""`get restarts`: automatic restarts of failed connectors and tasks, by Headrace workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.commands.arguments import positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.commands.result import Cell, Result, Table
from tui.commands.targets import select_names
from tui.errors import NotFound, naming
from tui.formatting import format_duration, one_line

if TYPE_CHECKING:
    from tui.client.responses import RestartPolicyResponse, RestartsResponse, RestartUnitResponse

COLUMNS = ("NAME", "TASK", "ATTEMPTS", "NEXT", "LAST FAILURE", "ERROR")


class GetRestarts(Command):
    """Show automatic restarts of connectors: attempts, the next restart, and the last failure of each task."""

    verb = "get restarts"

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()

    async def run(self, context: CommandContext) -> Result:
        responses: dict[str, RestartsResponse] = {}
        for name in await select_names(context.cluster.connect, self.names, self.regex):
            with naming(name):
                try:
                    responses[name] = await context.cluster.connect.restarts(name)
                except NotFound as error:
                    if not error.message.startswith("HTTP 404"):
                        raise
                    raise NotFound(
                        "this worker has no automatic restarts", 404, "only Headrace workers have them"
                    ) from None
        now = time.time()
        rows = [row for response in responses.values() for row in _rows(response, now)]
        single = tuple(responses) == self.names and len(responses) == 1
        return Result(
            responses[self.names[0]] if single else responses, Table(COLUMNS, tuple(rows)), names=tuple(responses)
        )


def _rows(response: RestartsResponse, now: float) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for unit in response["units"]:
        last = unit["history"][0] if unit["history"] else None
        ago = f"{format_duration(now - last['time'] / 1000)} ago" if last else ""
        task = "" if unit["task"] is None else unit["task"]
        error = one_line(last["error"]) if last else ""
        next_one = situation(unit, response["policy"], now)[1]
        rows.append((response["name"], task, attempts(unit, response["policy"]), next_one, ago, error))
    return rows


def attempts(unit: RestartUnitResponse, policy: RestartPolicyResponse) -> str:
    """The restarts in a row, and their limit: `2/5`."""
    return f"{unit['attempts']}/{policy['attempts']}" if policy["attempts"] >= 0 else str(unit["attempts"])


def situation(unit: RestartUnitResponse, policy: RestartPolicyResponse, now: float) -> tuple[str, str]:
    """`waits`, `given up` or `runs`, and a description for people. `now` in seconds since 1970."""
    row = attempts(unit, policy)
    if unit["due"] is not None:
        left = unit["due"] / 1000 - now
        return "waits", f"restart {row} " + (f"in {format_duration(left + 0.999)}" if left > 0 else "is due")
    if unit["ended"]:
        return "given up", "is no longer restarted: fix the cause, then restart it"
    return "runs", f"{row} restarts in a row" if unit["attempts"] else "all attempts left"
