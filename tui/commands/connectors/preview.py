"""`preview`: shows the results of a connector's transformations without processing any records."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any

from tui.commands.arguments import flag, integer, option, options, positional
from tui.commands.base import Command, refuse
from tui.commands.connectors.documents import documents
from tui.commands.context import CommandContext
from tui.commands.result import Result
from tui.errors import NotFound
from tui.formatting import counted
from tui.user_files import parse_json

if TYPE_CHECKING:
    from tui.client.responses import PreviewChange, PreviewFate, PreviewRecord, PreviewResponse
from difflib import SequenceMatcher
from itertools import zip_longest

WIDTH = 60
"""The maximum columns of each side; longer lines are cut."""


def side_by_side(left: Any, right: Any) -> Iterator[str]:
    """Lines of `left  | right`, marked `|` if they differ, `<` if only on the left, `>` if only on the right."""
    old, new = _document(left), _document(right)
    width = min(WIDTH, max(map(len, old), default=0))
    for old_line, other, mark in _aligned(old, new):
        yield f"{_cut(old_line or '', width):<{width}}  {mark} {_cut(other or '', WIDTH)}".rstrip()


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[str | None, str | None, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for left, other in zip_longest(old[a:b], new[c:d]):
            mark = " " if kind == "equal" else "<" if other is None else ">" if left is None else "|"
            yield left, other, mark


def _document(value: Any) -> list[str]:
    return json.dumps(value, indent=1, ensure_ascii=False).splitlines()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


Json = Any
_RESULTS = ("changed", "unchanged", "dropped", "skipped", "dead_letter", "fails", "unreadable")
_ABSENT = "—"


class Preview(Command):
    """Show the records before and after a connector's transformations, as configured or changed. Writes nothing."""

    verb = "preview connector"

    name = positional("NAME", "a connector, or one in FILE that does not exist yet")
    file = option("-f", "--file", metavar="FILE", help="the whole config to try, as for apply", convert=str)
    set = options("-s", "--set", metavar="KEY=VALUE", help="a changed key of the config; KEY= removes it")
    last = option(
        "-l", "--last", metavar="N", help="use the newest N records of the topics; default 10", convert=integer
    )
    topics = options("-t", "--topic", metavar="TOPIC", help="use records of this topic")
    value = options("-v", "--value", metavar="TEXT", help="use a record with this value")
    records = option(
        "-r", "--records", metavar="FILE|-", help="use these records: JSON as for POST …/preview, or lines",
        convert=str,
    )  # fmt: skip
    full = flag("--full", help="show whole records, before and after side by side")

    def check(self) -> None:
        given = self.records is not None or bool(self.value)
        refuse(given and self.last is not None, "give --last, or --records or --value, not both")
        refuse(self.records is not None and bool(self.value), "give --records or --value, not both")
        refuse(any("=" not in pair for pair in self.set), "--set: expected KEY=VALUE")

    async def run(self, context: CommandContext) -> Result:
        body: dict[str, Json] = {}
        if self.last is not None:
            body["last"] = self.last
        if self.topics:
            body["topics"] = list(self.topics)
        if self.value:
            body["records"] = list(self.value)
        elif self.records is not None:
            body["records"] = _records(context.files.read(self.records), self.records)
        response = await self._ask(context, body)
        return Result(response, text="\n".join(_lines(response, self.full)))

    async def _ask(self, context: CommandContext, body: dict[str, Json]) -> PreviewResponse:
        changes = {key: text or None for key, _, text in (pair.partition("=") for pair in self.set)}
        if self.file is None:
            return await _response(context.cluster.connect.preview(self.name, {**body, "config": changes}))
        (document, *more) = documents(context.files.read(self.file), self.file, self.name)
        refuse(bool(more), f"{self.file} has several connectors; preview takes one")
        wanted = {**document.config, **changes}
        try:
            before = await context.cluster.connect.config(self.name)
        except NotFound:
            plugin = str(wanted.get("connector.class") or "")
            refuse(not plugin, f"{document.where}: no connector.class")
            return await _response(
                context.cluster.connect.preview_plugin(plugin.rpartition(".")[2], {**body, "config": wanted})
            )
        removed = {key: None for key in before if key not in wanted}
        return await _response(context.cluster.connect.preview(self.name, {**body, "config": {**removed, **wanted}}))


async def _response(response: Awaitable[PreviewResponse]) -> PreviewResponse:
    try:
        return await response
    except NotFound as error:
        if not error.message.startswith("HTTP 404"):
            raise
        raise NotFound("this worker cannot run previews", 404, "only Headrace workers can run them") from None


def _records(text: str, where: str) -> list[Json]:
    """Records from a JSON array, from lines of JSON, or from lines of text. Raises UsageError."""
    if text.lstrip().startswith("["):
        return list(parse_json(text, where))
    return [_line(line) for line in text.splitlines() if line.strip()]


def _line(line: str) -> Json:
    """A record as a JSON object with `value`, or else the line as the value."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return record if isinstance(record, dict) and "value" in record else line


def _lines(response: PreviewResponse, full: bool) -> Iterator[str]:
    for number, record in enumerate(response["records"]):
        yield from _record(number, record, full)
    yield ""
    outcomes = ", ".join(f"{n} {w.replace('_', ' ')}" for w in _RESULTS if (n := response["summary"].get(w)))
    differs = response["summary"].get("differs")
    compared = "" if differs is None else f"; {differs} would differ from the current config"
    count = response["summary"]["records"]
    yield f"{counted(count, 'record')}: {outcomes}{compared}"
    yield from (f"note: {warning}" for warning in response["warnings"])


def _record(number: int, record: PreviewRecord, full: bool) -> Iterator[str]:
    by = record.get("by", "")
    by = f"by {by}" if record["result"] == "CHANGED" else by
    yield f"{number:>3}  {_place(record):<24}  {record['result'].replace('_', ' '):<11}  {by}".rstrip()
    now = record.get("now")
    if now is not None and _result(now) != _result(record):
        yield f"     now: {_result(now).replace('_', ' ')} {now.get('by', '')}".rstrip()
    if full:
        yield from (f"     {line}" for line in side_by_side(_shown(record, "before"), _shown(record, "after")))
        kafka = record.get("kafka")
        if kafka is not None and "offset" not in kafka:
            yield f"     written: {json.dumps(kafka, ensure_ascii=False)}"
        yield from (f"     and {json.dumps(other, ensure_ascii=False)}" for other in record.get("more") or ())
        return
    for stage in record["stages"]:
        yield from (_change(stage["alias"], change) for change in stage.get("changes") or ())
    yield from (
        f"     {'and':<12}  {'value':<20}  {_compact(other.get('value'))}" for other in record.get("more") or ()
    )


def _result(record: PreviewFate) -> str:
    """Whether the record passes, and if not, what happens to it."""
    return "PASSES" if record["result"] in ("CHANGED", "UNCHANGED") else str(record["result"])


def _place(record: PreviewRecord) -> str:
    """The offset of a sink's record; the topic of a source's."""
    kafka = record.get("kafka")
    if kafka is not None and "offset" in kafka:
        return f"{kafka['topic']}-{kafka['partition']}@{kafka['offset']}"
    side = record["after"] or record["before"]
    return "" if side is None else str(side["topic"])


def _shown(record: PreviewRecord, side: str) -> Json:
    """The record before or after; a sink's record that cannot be converted is shown as stored in Kafka."""
    if side == "before":
        return record["before"] if record["before"] is not None else record.get("kafka")
    return record["after"] if record["after"] is not None else record.get("error") or record["result"]


def _change(alias: str, change: PreviewChange) -> str:
    before, after = (_compact(change[side]) if side in change else _ABSENT for side in ("before", "after"))
    return f"     {alias:<12}  {change['at']:<20}  {before}  →  {after}"


def _compact(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
