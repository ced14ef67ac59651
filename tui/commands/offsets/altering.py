"""`patch offsets` and `delete offsets` (KIP-875)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui import model
from tui.client.versions import ALTER_OFFSETS
from tui.commands.arguments import (
    Argument,
    flag,
    integer,
    option,
    optional_positional,
    options,
    positional,
    positionals,
    regex_flag,
)
from tui.commands.base import ChangingCommand, Danger, refuse
from tui.commands.context import CommandCluster, CommandContext, CommandFiles
from tui.commands.offsets.changing import (
    apply_plan,
    changes_for,
    confirm_and_apply,
    dry_run_outcomes,
    plan_changes,
    plan_entries,
    require_changeable,
    topic_bounds,
    unchanged_text,
)
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.targets import change_each, failed_outcome, for_each, require_confirmation, select_names, selector
from tui.offsets import partitions
from tui.offsets.bounds import refusal
from tui.offsets.changes import OffsetChange
from tui.offsets.plan import OffsetsNotApplied, PlanAction
from tui.offsets.positions import EXPECTED, Position, parse
from tui.offsets.seek import SeekPlan, SeekRequest
from tui.user_files import parse_json

Json = Any
STOP_HELP = "stop the connector if necessary, and restore its state afterwards"
REASON_HELP = "the reason, for the history of the offsets"


class PatchOffsets(ChangingCommand):
    """Set committed offsets of a stopped connector. The offset null resets a partition."""

    verb, key = "patch offsets", "e"
    danger = Danger.ASK
    needs = ALTER_OFFSETS

    name = positional("NAME", "a connector")
    entries = optional_positional(
        "JSON|@FILE|-", '[{"partition": …, "offset": …}], or the output of `get offsets -o json`'
    )
    kafka_topic = option(
        "--kafka-topic", "--topic", metavar="TOPIC", help="topic of a sink, with the next two", convert=str
    )
    kafka_partition = option(
        "--kafka-partition", "--partition", metavar="N", help="partition of the topic", convert=integer
    )
    kafka_offset = option(
        "--kafka-offset", metavar="N|null", help="null resets the partition", convert=lambda text: number(text)
    )
    to: Argument[Position | None] = option(
        "--to", metavar="WHEN", help=f"position of a sink: {EXPECTED}", convert=parse
    )
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)
    source_partition: Argument[tuple[str, ...]] = options(
        "--source-partition", metavar="JSON", help="partition of a source; can be repeated"
    )
    source_offset: Argument[tuple[str, ...]] = options(
        "--source-offset", metavar="JSON", help="offset of each --source-partition"
    )

    def check(self) -> None:
        if self.to is not None:
            self._check_to()
            return
        ways = [bool(self.entries), self._names_sink, bool(self.source_partition or self.source_offset)]
        refuse(sum(ways) != 1, "give the offsets in one form: JSON, --kafka-… or --source-…")
        missing = self.values.keys() & _SINK_KEYS
        refuse(
            self._names_sink and missing != _SINK_KEYS,
            "give --kafka-topic, --kafka-partition and --kafka-offset together",
        )
        pairs = len(self.source_partition), len(self.source_offset)
        refuse(pairs[0] != pairs[1], "each --source-partition needs a --source-offset")
        if self.entries and self.entries != "-" and not self.entries.startswith("@"):
            parse_entries(self.entries, "the offsets")
        self._from_flags()

    def _check_to(self) -> None:
        others = self.entries or self.kafka_offset or self.source_partition or self.source_offset
        refuse(bool(others), "give either --to or offsets, not both")
        refuse(
            self.kafka_partition is not None and self.kafka_topic is None,
            "--partition needs --topic (--kafka-partition needs --kafka-topic)",
        )

    @property
    def _names_sink(self) -> bool:
        return bool(self.values.keys() & _SINK_KEYS)

    def _from_flags(self) -> list[Json]:
        if self._names_sink:
            offset = None if self.kafka_offset == "null" else {"kafka_offset": self.kafka_offset}
            problem = refusal(offset)
            refuse(bool(problem), f"--kafka-offset {self.kafka_offset}: {problem}")
            partition = {"kafka_topic": self.kafka_topic, "kafka_partition": self.kafka_partition}
            return [{"partition": partition, "offset": offset}]
        pairs = zip(self.source_partition, self.source_offset, strict=True)
        return [
            {"partition": parse_json(p, "--source-partition"), "offset": parse_json(o, "--source-offset")}
            for p, o in pairs
        ]

    def _wanted(self, files: CommandFiles) -> list[Json]:
        if not self.entries:
            return self._from_flags()
        if self.entries == "-" or self.entries.startswith("@"):
            path = self.entries.removeprefix("@")
            return parse_entries(files.read(path), "standard input" if path == "-" else path)
        return parse_entries(self.entries, "the offsets")

    async def run(self, context: CommandContext) -> Result:
        if self.to is not None:
            return await self._seek(context, self.to)
        entries = self._wanted(context.files)
        if self.dry_run:
            now = model.offsets(await context.cluster.connect.offsets(self.name))
            wanted = changes_for(now, entries)
            return await self._would(context.cluster, (await topic_bounds(context, wanted)).remarked(wanted))

        async def act(name: str) -> TargetOutcome:
            plan = await plan_entries(context.cluster, name, entries, stop=self.stop, why=self.reason)
            plan = plan._replace(changes=(await topic_bounds(context, plan.changes)).remarked(plan.changes))
            return await confirm_and_apply(context, plan, self.yes)

        return await for_each([self.name], act)

    async def _would(self, cluster: CommandCluster, changes: Sequence[OffsetChange]) -> Result:
        """The result of a dry run, with the refusal if the connector would have to be stopped."""
        outcomes = dry_run_outcomes(self.name, changes)
        if changes:
            try:
                await require_changeable(cluster, self.name, self.stop)
            except OffsetsNotApplied as error:
                outcomes.append(failed_outcome(self.name, error))
        return confirmation(outcomes)

    async def _seek(self, context: CommandContext, to: Position) -> Result:
        """Resolves the position to offsets and applies them."""
        target = SeekRequest(to, self.kafka_topic, self.kafka_partition)
        seek_plan = await context.cluster.seek_planner.resolve(self.name, target)
        if not seek_plan.changes and seek_plan.held:
            return confirmation([TargetOutcome(self.name, unchanged_text(change)) for change in seek_plan.held])
        if self.dry_run or not seek_plan.changes:
            return await self._would(context.cluster, seek_plan.changes)

        async def act(name: str) -> TargetOutcome:
            plan = await plan_changes(
                context.cluster, name, seek_plan.base, seek_plan.changes, stop=self.stop, why=self.reason
            )
            effect = total(seek_plan) if len(seek_plan.changes) > 1 else ""
            return await confirm_and_apply(context, plan, self.yes, effect, again)

        async def again() -> tuple[OffsetChange, ...]:
            return (await context.cluster.seek_planner.resolve(self.name, target)).changes

        return await for_each([self.name], act)


def total(seek_plan: SeekPlan) -> str:
    effect = seek_plan.effect
    return effect.total


_SINK_KEYS = {"kafka_topic", "kafka_partition", "kafka_offset"}


class DeleteOffsets(ChangingCommand):
    """Reset all offsets of stopped connectors, which then start as if newly created."""

    verb = "delete offsets"
    danger, selects = Danger.NAME, True
    needs = ALTER_OFFSETS

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def check(self) -> None:
        selector(self.names, self.regex)

    async def run(self, context: CommandContext) -> Result:
        names = await select_names(context.cluster.connect, self.names, self.regex)
        if self.dry_run:
            return await for_each(names, lambda name: self._would(context.cluster, name))
        require_confirmation(context.terminal, self.yes, "reset all offsets of", names)

        async def act(name: str) -> TargetOutcome:
            return await reset(context, name, PlanAction.RESET, stop=self.stop, why=self.reason)

        return await change_each(names, act)

    async def _would(self, cluster: CommandCluster, name: str) -> TargetOutcome:
        await require_changeable(cluster, name, self.stop)
        return TargetOutcome(name, "offsets would be reset")


async def reset(
    context: CommandContext, name: str, action: PlanAction, *, stop: bool, why: str | None
) -> TargetOutcome:
    """Resets all offsets of a connector. Raises HeadraceError."""
    now = model.offsets(await context.cluster.connect.offsets(name))
    entries = [{"partition": entry.partition, "offset": None} for entry in now]
    return await apply_plan(
        context, await plan_entries(context.cluster, name, entries, stop=stop, why=why, action=action)
    )


def number(text: str) -> int | str:
    """An integer, or `null`. Raises UsageError."""
    return text if text == "null" else integer(text)


def parse_entries(text: str, where: str) -> list[Json]:
    """Entries from a list, `{"offsets": [...]}` or a single entry. Raises UsageError for a wrong shape."""
    document = parse_json(text, where)
    if isinstance(document, dict):
        document = document["offsets"] if document.keys() == {"offsets"} else [document]
    refuse(not isinstance(document, list) or not document, f"{where}: expected a list with at least one offset")
    seen: dict[str, int] = {}
    for place, entry in enumerate(document, 1):
        _check_entry(entry, f"{where}: entry {place}")
        first = seen.setdefault(partitions.key(entry["partition"]), place)
        refuse(first != place, f"{where}: entry {place} has the same partition as entry {first}")
    return list(document)


def _check_entry(entry: Json, where: str) -> None:
    refuse(not isinstance(entry, dict), f'{where} must be an object with "partition" and "offset"')
    refuse(entry.keys() != {"partition", "offset"}, f'{where} must have exactly the keys "partition" and "offset"')
    refuse(not isinstance(entry["partition"], dict), f"{where}: the partition must be a JSON object")
    refuse(not isinstance(entry["offset"], dict | None), f"{where}: the offset must be a JSON object or null")
    problem = refusal(entry["offset"])
    refuse(bool(problem), f"{where}: {problem}")
