"""`get restarts`: automatic restarts of failed connectors and tasks, by Headrace workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.commands.arguments import positionals, regex_flag
from tui.commands.base import Command, CommandContext
from tui.commands.result import Cell, Result, Table
from tui.commands.targets import select_names
from tui.errors import NotFound, about
from tui.formatting import one_line, span

if TYPE_CHECKING:
    from tui.client.responses import RestartPolicyResponse, RestartsResponse, RestartUnitResponse

COLUMNS = ("NAME", "TASK", "ATTEMPTS", "NEXT", "LAST FAILURE", "ERROR")


class GetRestarts(Command):
    """Show automatic restarts of connectors: attempts, the next restart, and the last failure of each task."""

    verb = "get restarts"

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()

    async def run(self, context: CommandContext) -> Result:
        answers: dict[str, RestartsResponse] = {}
        for name in await select_names(context.connect, self.names, self.regex):
            with about(name):
                try:
                    answers[name] = await context.connect.restarts(name)
                except NotFound as error:
                    if not error.message.startswith("HTTP 404"):
                        raise
                    raise NotFound(
                        "this worker has no automatic restarts", 404, "only Headrace workers have them"
                    ) from None
        now = time.time()
        rows = [row for answer in answers.values() for row in _rows(answer, now)]
        single = tuple(answers) == self.names and len(answers) == 1
        return Result(answers[self.names[0]] if single else answers, Table(COLUMNS, tuple(rows)), names=tuple(answers))


def _rows(answer: RestartsResponse, now: float) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for unit in answer["units"]:
        last = unit["history"][0] if unit["history"] else None
        ago = f"{span(now - last['time'] / 1000)} ago" if last else ""
        task = "" if unit["task"] is None else unit["task"]
        error = one_line(last["error"]) if last else ""
        next_one = situation(unit, answer["policy"], now)[1]
        rows.append((answer["name"], task, attempts(unit, answer["policy"]), next_one, ago, error))
    return rows


def attempts(unit: RestartUnitResponse, policy: RestartPolicyResponse) -> str:
    """The restarts in a row, and their limit: `2/5`."""
    return f"{unit['attempts']}/{policy['attempts']}" if policy["attempts"] >= 0 else str(unit["attempts"])


def situation(unit: RestartUnitResponse, policy: RestartPolicyResponse, now: float) -> tuple[str, str]:
    """`waits`, `given up` or `runs`, and a description for people. `now` in seconds since 1970."""
    row = attempts(unit, policy)
    if unit["due"] is not None:
        left = unit["due"] / 1000 - now
        return "waits", f"restart {row} " + (f"in {span(left + 0.999)}" if left > 0 else "is due")
    if unit["ended"]:
        return "given up", "is no longer restarted: fix the cause, then restart it"
    return "runs", f"{row} restarts in a row" if unit["attempts"] else "all attempts left"
