"""The verbs that only look: info, get, describe."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from tui import model
from tui.commands.arguments import by_regex, flag, one_of, option, word, words
from tui.commands.base import Command, CommandContext
from tui.commands.result import Cell, Result, Table
from tui.commands.targets import chosen, compiled, is_glob, matches
from tui.errors import MalformedAnswer, NotFound, Refused, about

Json = Any
BARE = ("get", "list")  # no noun was typed: a name may have been meant as one
STATES = ("RUNNING", "FAILED", "UNASSIGNED", "PAUSED", "STOPPED", "RESTARTING")


class Info(Command):
    """Show the cluster: its version, its id, the URL asked."""

    verb = "info"

    async def run(self, context: CommandContext) -> Result:
        root = await context.connect.root()
        rows = (
            ("url", context.connect.url),
            ("context", context.profile.name),
            ("version", root.get("version")),
            ("commit", root.get("commit")),
            ("kafka cluster id", root.get("kafka_cluster_id")),
            ("read-only", "yes" if context.profile.read_only else ""),
        )
        shown = [(key, value) for key, value in rows if value]
        text = "\n".join(f"{key:<17} {value}" for key, value in shown)
        return Result(raw=root, text=text, names=(str(root.get("kafka_cluster_id", "")),))


class GetConnectors(Command):
    """List connectors with state and tasks, failures first."""

    verb = "get connectors"

    names = words("NAME", "only these; globs are fine", at_least=0)
    state = option("-s", "--state", metavar="STATE", help="only those in it", convert=one_of(*STATES))
    type = option("-t", "--type", metavar="TYPE", help="source or sink", convert=one_of("source", "sink"))
    regex = option("-e", "--regex", metavar="REGEX", help="only names it matches in full", convert=str)

    def check(self) -> None:
        if self.regex is not None:
            compiled(self.regex)

    async def run(self, context: CommandContext) -> Result:
        every = model.connectors(await context.connect.expanded())
        for name in self.names:
            if not any(matches(there, [name]) for there in every):
                if is_glob(name):
                    raise NotFound(f"no connector matches {name}", 404)
                raise NotFound(f"Connector {name} not found", 404, _guess(name, every, self.typed in BARE))
        return listing([one for one in every.values() if self._wants(one)])

    def _wants(self, one: model.Connector) -> bool:
        return (
            (not self.names or matches(one.name, self.names))
            and (self.state is None or one.overall == self.state)
            and (self.type is None or one.type == self.type)
            and (self.regex is None or matches(one.name, [self.regex], regex=True))
        )


def _guess(name: str, there: Iterable[str], maybe_noun: bool) -> str:
    """What was meant: `get plugin` may have been typed as `get plugns`, or as `get workers`, which there is not."""
    from difflib import get_close_matches

    from tui.commands.registry import VERBS

    nouns = [verb.removeprefix("get ") for verb in VERBS if maybe_noun and verb.startswith("get ")]
    begun = [noun for noun in nouns if noun.startswith(name)]
    meant = [f"get {noun}" for noun in begun or get_close_matches(name, nouns, 1)] or get_close_matches(name, there, 1)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return f"nor does `get` know {name!r}: there are {', '.join(nouns)}" if nouns else ""


def listing(some: list[model.Connector]) -> Result:
    """The connector list; its JSON has the columns of the table."""
    ranked = model.by_severity(some)
    states = {c.name: c.overall for c in ranked}
    rows = tuple((c.name, c.type, states[c.name], c.tasks_text, c.worker, c.short_class, c.cls) for c in ranked)
    raw = [
        {
            "name": c.name,
            "type": c.type,
            "state": states[c.name],
            "tasks": {"running": c.running, "failed": c.failed, "total": len(c.tasks)},
            "class": c.cls,
            "worker": c.worker,
        }
        for c in ranked
    ]
    columns = ("NAME", "TYPE", "STATE", "TASKS", "WORKER", "CLASS", "FULL CLASS")
    return Result(raw, Table(columns, rows, frozenset({"FULL CLASS"})), names=tuple(c.name for c in ranked))


class GetOffsets(Command):
    """Show the committed offsets of connectors; for one name in the form `patch offsets` takes."""

    verb = "get offsets"

    names = words("NAME", "connectors; globs are fine")
    regex = by_regex()

    async def run(self, context: CommandContext) -> Result:
        answers = {}
        wide = self.output == "wide"
        ask = context.connect.offsets_in_detail if wide else context.connect.offsets
        for name in await chosen(context.connect, self.names, self.regex):
            with about(name):
                answers[name] = await ask(name)
        single = tuple(answers) == self.names and len(answers) == 1  # a glob of one match is still a glob
        raw = answers[self.names[0]] if single else answers
        entries = [(name, entry) for name, answer in answers.items() for entry in model.offsets(answer)]
        table = await self._with_lag(context, answers) if wide else offsets_table(entries)
        return Result(raw, table, names=tuple(answers))

    async def _with_lag(self, context: CommandContext, answers: dict[str, Json]) -> Table:
        """From our workers, or from the brokers where the context names some."""
        from tui.offsets import lag, partitions
        from tui.offsets.seek import aside

        rows: list[tuple[Cell, ...]] = []
        for name, answer in answers.items():
            offsets = model.offsets(answer)
            lags = lag.of_answer(answer)
            if not lags and context.profile.bootstrap and any(entry.is_sink for entry in offsets):
                lags = await aside(partial(lag.of_brokers, offsets, context.brokers()))
            for line in lag.remarks(answer).lines(int(time.time() * 1000)):
                context.narrate(f"{name}: {line}")
            for entry in offsets:
                one = lags.get(partitions.key(entry.partition), lag.Lag())
                where = partitions.shown(entry.partition), partitions.shown_offset(entry.offset)
                rows.append((name, *where, one.end, one.records, lag.time_of(one)))
        return Table(("NAME", "PARTITION", "OFFSET", "END", "LAG", "TIME"), tuple(rows))


def offsets_table(entries: list[tuple[str, model.Offset]]) -> Table:
    """Sinks by topic and partition; as soon as a source is among them, by JSON."""
    if entries and all(entry.is_sink for _, entry in entries):
        rows = tuple(
            (name, e.partition["kafka_topic"], e.partition["kafka_partition"], (e.offset or {}).get("kafka_offset"))
            for name, e in entries
        )
        return Table(("NAME", "TOPIC", "PARTITION", "OFFSET"), rows)
    return Table(
        ("NAME", "PARTITION", "OFFSET"), tuple((n, compact(e.partition), compact(e.offset)) for n, e in entries)
    )


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class DescribeConnector(Command):
    """Show all of one connector: state, tasks with traces, config, topics, offsets."""

    verb = "describe connector"

    name = word("NAME")
    tasks_config = flag("--tasks-config", help="the config of each task as well")

    async def run(self, context: CommandContext) -> Result:
        connect, name = context.connect, self.name
        with about(name):
            raw = {"info": await connect.info(name)}
            raw["status"] = await _or_none(connect.status(name))
            raw["topics"] = ((await _or_none(connect.topics(name)) or {}).get(name) or {}).get("topics") or []
            raw["offsets"] = (await _or_none(connect.offsets(name)) or {}).get("offsets") or []
            if self.tasks_config:
                raw["tasks"] = await connect.tasks(name)
        return Result(raw, text=description(name, raw), names=(name,))


async def _or_none(answer: Any) -> Json:
    """Not every cluster answers everything (topics off, offsets before 3.5, no status yet); the rest is shown."""
    try:
        return await answer
    except MalformedAnswer:
        raise
    except Refused:
        return None


def description(name: str, raw: dict[str, Json]) -> str:
    """For people: short things first, traces last."""
    one = model.connector(name, raw["status"], raw["info"])
    lines = [f"{one.name}  {one.overall}", ""]
    lines += _pairs({"type": one.type, "class": one.cls, "version": one.version, "worker": one.worker})
    lines += _pairs({"connector": one.state, "tasks": one.tasks_text, "topics": ", ".join(raw["topics"])})
    lines += [f"  {task.id:<3} {task.state:<11} {task.worker}" for task in one.tasks]
    lines += ["", "config"]
    lines += [f"  {key} = {value}" for key, value in sorted(one.config.items())]
    for task in raw.get("tasks") or ():
        lines += ["", f"config of task {task['id']['task']}"]
        lines += [f"  {key} = {value}" for key, value in sorted(task["config"].items())]
    entries = model.offsets(raw)
    if entries:
        lines += ["", "offsets", *(f"  {compact(entry.partition)}  {compact(entry.offset)}" for entry in entries)]
    if one.traces:
        lines += ["", one.traces]
    return "\n".join(lines)


def _pairs(pairs: dict[str, str]) -> list[str]:
    return [f"{key:<10} {value}" for key, value in pairs.items() if value]
