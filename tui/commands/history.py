"""The verbs that look back: what was changed about offsets, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tui.commands.arguments import flag, integer, option, word
from tui.commands.base import Change, Command, Context, Danger, refuse
from tui.commands.offsets import answered
from tui.commands.reading import compact
from tui.commands.result import Outcome, Result, Table, confirmation
from tui.commands.standstill import alter
from tui.commands.targets import each
from tui.errors import HeadraceError, NotFound

Json = Any


class GetOffsetHistory(Command):
    """Show what was changed about a connector's offsets, newest first, with the offsets as they were before."""

    verb = "get offset history"

    name = word("NAME", "also of a connector that is deleted")

    async def run(self, context: Context) -> Result:
        past = await _history(context, self.name)
        rows = tuple(
            (p["number"], _time(p["time"]), p["action"], p["who"], p["why"], _changes(p)) for p in past
        )  # fmt: skip
        columns = ("NUMBER", "TIME", "ACTION", "WHO", "WHY", "CHANGES")
        return Result({"history": past}, Table(columns, rows), names=tuple(str(p["number"]) for p in past))


class _Back(Change):
    """Alters offsets to what they were."""

    danger = Danger.ASK

    name = word("NAME")
    stop = flag("--stop", help="stop it if it has to be, and set it going again as it was")

    async def wanted(self, context: Context) -> list[Json]:
        raise NotImplementedError

    async def run(self, context: Context) -> Result:
        entries = await self.wanted(context)
        if self.dry_run or not entries:
            lines = [f"would set {compact(e['partition'])} to {compact(e['offset'])}" for e in entries]
            return confirmation([Outcome(self.name, line) for line in lines or ["nothing has to be changed"]])

        async def act(name: str) -> Outcome:
            return answered(name, await alter(context, name, entries, stop=self.stop))

        return await each([self.name], act)


class Undo(_Back):
    """Take the last change of a connector's offsets back. Undoing that is doing it again."""

    verb = "undo"

    async def wanted(self, context: Context) -> list[Json]:
        past = await _history(context, self.name)
        if not past:
            raise HeadraceError(f"nobody has changed the offsets of {self.name} yet")
        before = _by_partition(past[0]["before"])
        touched = _by_partition([*past[0]["after"], *(past[0]["before"] if past[0]["action"] != "alter" else [])])
        return [_entry(partition, before.get(partition)) for partition in touched]


class Rollback(_Back):
    """Set all offsets of a connector to what they were before a change; `get offset history` has the numbers."""

    verb = "rollback"

    to = option("--to", metavar="N", help="the number of the change", convert=integer)

    def check(self) -> None:
        refuse(self.to is None, "rollback needs --to N: the number of the change before which to go")

    async def wanted(self, context: Context) -> list[Json]:
        found = [past for past in await _history(context, self.name) if past["number"] == self.to]
        if not found:
            raise HeadraceError(f"there is no change {self.to} of {self.name}, or not any more")
        before = _by_partition(found[0]["before"])
        now = _by_partition((await context.connect.offsets(self.name))["offsets"])
        return [_entry(p, before.get(p)) for p in {**before, **now} if before.get(p) != now.get(p)]


async def _history(context: Context, name: str) -> list[Json]:
    try:
        return list((await context.connect.offset_history(name))["history"])
    except NotFound as error:
        error.advice = "only Headrace's workers keep a history"
        raise


def _by_partition(entries: list[Json]) -> Mapping[str, Json]:
    return {json.dumps(entry["partition"], sort_keys=True): entry["offset"] for entry in entries}


def _entry(partition: str, offset: Json) -> Json:
    return {"partition": json.loads(partition), "offset": offset}


def _changes(past: Json) -> str:
    """The first one, and how many more."""
    before, after = _by_partition(past["before"]), _by_partition(past["after"])
    shown = [f"{p}: {compact(before.get(p))} → {compact(after.get(p))}" for p in after]
    return "" if not shown else shown[0] + (f" and {len(shown) - 1} more" if len(shown) > 1 else "")


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
