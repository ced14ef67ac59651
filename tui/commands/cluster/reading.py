"""The verbs that only read: info, get connectors, get offsets, describe connector."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from tui import model
from tui.commands.arguments import choice, flag, option, positional, positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.commands.result import Cell, Result, Table
from tui.commands.targets import is_glob, matches, select_names, selector
from tui.errors import MalformedResponse, NotFound, Refused, naming

T = TypeVar("T")
Json = Any
VERBS_WITHOUT_NOUN = ("get", "list")  # a word behind these may be meant as a noun
STATES = ("RUNNING", "FAILED", "UNASSIGNED", "PAUSED", "STOPPED", "RESTARTING")


class Info(Command):
    """Show the cluster: URL, version and Kafka cluster ID."""

    verb = "info"

    async def run(self, context: CommandContext) -> Result:
        root = await context.cluster.connect.root()
        rows = (
            ("url", context.cluster.connect.url),
            ("context", context.cluster.profile.name),
            ("version", root.get("version")),
            ("commit", root.get("commit")),
            ("kafka cluster id", root.get("kafka_cluster_id")),
            ("read-only", "yes" if context.cluster.profile.read_only else ""),
        )
        shown = [(key, value) for key, value in rows if value]
        text = "\n".join(f"{key:<17} {value}" for key, value in shown)
        return Result(raw=root, text=text, names=(str(root.get("kafka_cluster_id", "")),))


class GetConnectors(Command):
    """List connectors with their states and tasks, failures first."""

    verb = "get connectors"

    names = positionals("NAME", "only these connectors; globs are allowed", at_least=0)
    state = option("-s", "--state", metavar="STATE", help="only connectors in this state", convert=choice(*STATES))
    type = option("-t", "--type", metavar="TYPE", help="only sources or only sinks", convert=choice("source", "sink"))
    regex = option("-e", "--regex", metavar="REGEX", help="only names that match REGEX completely", convert=str)

    def check(self) -> None:
        self._matches_regex()

    async def run(self, context: CommandContext) -> Result:
        every = model.connectors(await context.cluster.connect.expanded())
        for name in self.names:
            if not any(matches(known, [name]) for known in every):
                if is_glob(name):
                    raise NotFound(f"no connector matches {name}", 404)
                raise NotFound(
                    f"Connector {name} not found", 404, _guess(name, every, self.typed in VERBS_WITHOUT_NOUN)
                )
        matches_regex = self._matches_regex()
        return listing(
            [connector for connector in every.values() if self._wants(connector) and matches_regex(connector.name)]
        )

    def _matches_regex(self) -> Callable[[str], bool]:
        return (lambda name: True) if self.regex is None else selector([self.regex], regex=True)

    def _wants(self, connector: model.Connector) -> bool:
        return (
            (not self.names or matches(connector.name, self.names))
            and (self.state is None or connector.overall == self.state)
            and (self.type is None or connector.type == self.type)
        )


def _guess(name: str, names: Iterable[str], maybe_noun: bool) -> str:
    """A suggestion for an unknown name, which may be a misspelt (`get plugns`) or unknown noun (`get widgets`)."""
    from difflib import get_close_matches

    from tui.commands.registry import VERBS

    nouns = [verb.removeprefix("get ") for verb in VERBS if maybe_noun and verb.startswith("get ")]
    completed = [noun for noun in nouns if noun.startswith(name)]
    meant = [f"get {noun}" for noun in completed or get_close_matches(name, nouns, 1)] or get_close_matches(
        name, names, 1
    )
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return f"unknown resource {name!r}; choose from {', '.join(nouns)}" if nouns else ""


def listing(connectors: list[model.Connector]) -> Result:
    """The connector list as a table and as JSON."""
    ranked = model.by_severity(connectors)
    states = {c.name: c.overall for c in ranked}
    rows = tuple((c.name, c.type, states[c.name], c.tasks_text, c.worker, c.short_class, c.cls) for c in ranked)
    raw = [
        {
            "name": c.name,
            "type": c.type,
            "state": states[c.name],
            "tasks": {"running": c.running, "failed": c.failed, "total": c.total},
            "class": c.cls,
            "worker": c.worker,
        }
        for c in ranked
    ]
    columns = ("NAME", "TYPE", "STATE", "TASKS", "WORKER", "CLASS", "FULL CLASS")
    return Result(raw, Table(columns, rows, frozenset({"FULL CLASS"})), names=tuple(c.name for c in ranked))


class GetOffsets(Command):
    """Show the committed offsets of connectors. For a single name, -o json prints the input of `patch offsets`."""

    verb = "get offsets"

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()

    async def run(self, context: CommandContext) -> Result:
        responses = {}
        wide = self.output == "wide"
        ask = context.cluster.connect.offsets_in_detail if wide else context.cluster.connect.offsets
        for name in await select_names(context.cluster.connect, self.names, self.regex):
            with naming(name):
                responses[name] = await ask(name)
        single = tuple(responses) == self.names and len(responses) == 1  # not a glob with one match
        raw = responses[self.names[0]] if single else responses
        entries = [(name, entry) for name, response in responses.items() for entry in model.offsets(response)]
        table = await self._with_lag(context, responses) if wide else offsets_table(entries)
        return Result(raw, table, names=tuple(responses))

    async def _with_lag(self, context: CommandContext, responses: dict[str, Json]) -> Table:
        """The table with lag, from a Headrace worker or from the brokers that the context names."""
        from tui.offsets import lag, partitions
        from tui.offsets.seek import in_thread

        rows: list[tuple[Cell, ...]] = []
        for name, response in responses.items():
            offsets = model.offsets(response)
            lags = lag.of_response(response)
            if not lags and context.cluster.profile.bootstrap and any(entry.is_sink for entry in offsets):
                lags = await in_thread(partial(lag.of_brokers, offsets, context.cluster.brokers()))
            for line in lag.warnings(response).lines(int(time.time() * 1000)):
                context.terminal.report(f"{name}: {line}")
            for entry in offsets:
                partition_lag = lags.get(partitions.key(entry.partition), lag.Lag())
                where = partitions.shown(entry.partition), partitions.offset_cell(entry.offset)
                rows.append((name, *where, partition_lag.end, partition_lag.records, lag.time_of(partition_lag)))
        return Table(("NAME", "PARTITION", "OFFSET", "END", "LAG", "TIME"), tuple(rows))


def offsets_table(entries: list[tuple[str, model.Offset]]) -> Table:
    """Offsets of sinks by topic and partition; as JSON if any is of a source."""
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
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class DescribeConnector(Command):
    """Show a connector: state, tasks with traces, config, topics, offsets."""

    verb = "describe connector"

    name = positional("NAME", "a connector")
    tasks_config = flag("--tasks-config", help="also show the config of each task")

    async def run(self, context: CommandContext) -> Result:
        connect, name = context.cluster.connect, self.name
        with naming(name):
            raw: dict[str, Json] = {"info": await connect.info(name)}
            raw["status"] = await _or_none(connect.status(name))
            raw["topics"] = ((await _or_none(connect.topics(name)) or {}).get(name) or {}).get("topics") or []
            raw["offsets"] = (await _or_none(connect.offsets(name)) or {}).get("offsets") or []
            if self.tasks_config:
                raw["tasks"] = await connect.tasks(name)
        return Result(raw, text=description(name, raw), names=(name,))


async def _or_none(response: Awaitable[T]) -> T | None:
    """The response, or None if the cluster refuses: topic tracking disabled, no offsets before 3.5, or no status
    yet."""
    try:
        return await response
    except MalformedResponse:
        raise
    except Refused:
        return None


def description(name: str, raw: dict[str, Json]) -> str:
    """The connector as text, with the traces last."""
    connector = model.connector(name, raw["status"], raw["info"])
    lines = [f"{connector.name}  {connector.overall}", ""]
    lines += _pairs(
        {"type": connector.type, "class": connector.cls, "version": connector.version, "worker": connector.worker}
    )
    lines += _pairs({"connector": connector.state, "tasks": connector.tasks_text, "topics": ", ".join(raw["topics"])})
    lines += [f"  {task.id:<3} {task.state:<11} {task.worker}" for task in connector.tasks]
    lines += ["", "config"]
    lines += [f"  {key} = {value}" for key, value in sorted(connector.config.items())]
    for task in raw.get("tasks") or ():
        lines += ["", f"config of task {task['id']['task']}"]
        lines += [f"  {key} = {value}" for key, value in sorted(task["config"].items())]
    entries = model.offsets(raw)
    if entries:
        lines += ["", "offsets", *(f"  {compact(entry.partition)}  {compact(entry.offset)}" for entry in entries)]
    if connector.traces:
        lines += ["", connector.traces]
    return "\n".join(lines)


def _pairs(pairs: dict[str, str]) -> list[str]:
    return [f"{key:<10} {value}" for key, value in pairs.items() if value]
