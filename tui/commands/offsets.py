"""The verbs that change offsets: patch and delete (KIP-875)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tui import model
from tui.commands.arguments import Argument, by_regex, flag, integer, maybe_word, option, options, word, words
from tui.commands.base import ChangingCommand, CommandContext, Danger, refuse
from tui.commands.changing import agreed, change, changeable, decided, limits, made, planned, stays, would
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.targets import chosen, compiled, each, failure, must_confirm
from tui.errors import UsageError
from tui.offsets.bounds import is_negative
from tui.offsets.changes import Change as OffsetChange
from tui.offsets.plan import Action, NotApplied
from tui.offsets.positions import EXPECTED, Moment, parse
from tui.offsets.seek import Journey, Target

Json = Any
STOP_HELP = "stop it if it has to be, and set it going again as it was"
REASON_HELP = "why: it is kept in the history"


class PatchOffsets(ChangingCommand):
    """Set committed offsets of a stopped connector; `null` as an offset resets that partition."""

    verb, key = "patch offsets", "e"
    danger = Danger.ASK

    name = word("NAME")
    entries = maybe_word("JSON|@FILE|-", '[{"partition": …, "offset": …}], or what `get offsets -o json` printed')
    kafka_topic = option(
        "--kafka-topic", "--topic", metavar="TOPIC", help="of a sink, with the two that follow", convert=str
    )
    kafka_partition = option("--kafka-partition", "--partition", metavar="N", convert=integer)
    kafka_offset = option("--kafka-offset", metavar="N|null", help="null resets it", convert=lambda text: number(text))
    to: Argument[Moment | None] = option("--to", metavar="WHEN", help=f"of a sink: {EXPECTED}", convert=parse)
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)
    source_partition: Argument[tuple[str, ...]] = options("--source-partition", metavar="JSON", help="of a source")
    source_offset: Argument[tuple[str, ...]] = options("--source-offset", metavar="JSON", help="one for each partition")

    def check(self) -> None:
        if self.to is not None:
            self._check_to()
            return
        ways = [bool(self.entries), self._names_sink, bool(self.source_partition or self.source_offset)]
        refuse(sum(ways) != 1, "give the offsets one way: as JSON, by --kafka-… or by --source-…")
        missing = self.values.keys() & _SINK_KEYS
        refuse(
            self._names_sink and missing != _SINK_KEYS,
            "--kafka-topic, --kafka-partition and --kafka-offset belong together",
        )
        pairs = len(self.source_partition), len(self.source_offset)
        refuse(pairs[0] != pairs[1], "each --source-partition needs its --source-offset")
        if self.entries and self.entries != "-" and not self.entries.startswith("@"):
            parse_entries(self.entries, "the offsets")
        self._from_flags()

    def _check_to(self) -> None:
        others = self.entries or self.kafka_offset or self.source_partition or self.source_offset
        refuse(bool(others), "--to says where to go: give no offsets beside it")
        refuse(
            self.kafka_partition is not None and self.kafka_topic is None,
            "--partition needs its --topic (or --kafka-partition its --kafka-topic): every topic has such a partition",
        )

    @property
    def _names_sink(self) -> bool:
        return bool(self.values.keys() & _SINK_KEYS)

    def _from_flags(self) -> list[Json]:
        if self._names_sink:
            offset = None if self.kafka_offset == "null" else {"kafka_offset": self.kafka_offset}
            refuse(is_negative(offset), f"--kafka-offset {self.kafka_offset}: an offset is not negative")
            partition = {"kafka_topic": self.kafka_topic, "kafka_partition": self.kafka_partition}
            return [{"partition": partition, "offset": offset}]
        pairs = zip(self.source_partition, self.source_offset, strict=True)
        return [
            {"partition": parse_json(p, "--source-partition"), "offset": parse_json(o, "--source-offset")}
            for p, o in pairs
        ]

    def _wanted(self, context: CommandContext) -> list[Json]:
        if not self.entries:
            return self._from_flags()
        if self.entries == "-" or self.entries.startswith("@"):
            path = self.entries.removeprefix("@")
            return parse_entries(context.read(path), "standard input" if path == "-" else path)
        return parse_entries(self.entries, "the offsets")

    async def run(self, context: CommandContext) -> Result:
        if self.to is not None:
            return await self._travel(context, self.to)
        entries = self._wanted(context)
        if self.dry_run:
            now = model.offsets(await context.connect.offsets(self.name))
            wanted = made(now, entries)
            return await self._would(context, (await limits(context, wanted)).remarked(wanted))

        async def act(name: str) -> TargetOutcome:
            plan = await planned(context, name, entries, stop=self.stop, why=self.reason)
            plan = plan._replace(changes=(await limits(context, plan.changes)).remarked(plan.changes))
            return await agreed(context, plan, self.yes)

        return await each([self.name], act)

    async def _would(self, context: CommandContext, changes: Sequence[OffsetChange]) -> Result:
        """What a dry run says: also that it would be refused."""
        outcomes = would(self.name, changes)
        if changes:
            try:
                await changeable(context, self.name, self.stop)
            except NotApplied as error:
                outcomes.append(failure(self.name, error))
        return confirmation(outcomes)

    async def _travel(self, context: CommandContext, to: Moment) -> Result:
        """What going there means, and going."""
        target = Target(to, self.kafka_topic, self.kafka_partition)
        journey = await context.traveller.resolve(self.name, target)
        if not journey.changes and journey.held:
            return confirmation([TargetOutcome(self.name, stays(one)) for one in journey.held])
        if self.dry_run or not journey.changes:
            return await self._would(context, journey.changes)

        async def act(name: str) -> TargetOutcome:
            plan = await decided(context, name, journey.base, journey.changes, stop=self.stop, why=self.reason)
            effect = total(journey) if len(journey.changes) > 1 else ""
            return await agreed(context, plan, self.yes, effect, again)

        async def again() -> tuple[OffsetChange, ...]:
            return (await context.traveller.resolve(self.name, target)).changes

        return await each([self.name], act)


def total(journey: Journey) -> str:
    effect = journey.effect
    return effect.total


_SINK_KEYS = {"kafka_topic", "kafka_partition", "kafka_offset"}


class DeleteOffsets(ChangingCommand):
    """Reset all offsets of stopped connectors: they start again as new."""

    verb = "delete offsets"
    danger = Danger.NAME

    names = words("NAME", "connectors; globs are fine")
    regex = by_regex()
    stop = flag("--stop", help=STOP_HELP)
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)

    def check(self) -> None:
        for pattern in self.names if self.regex else ():
            compiled(pattern)

    async def run(self, context: CommandContext) -> Result:
        names = await chosen(context.connect, self.names, self.regex)
        if self.dry_run:
            return await each(names, lambda name: self._would(context, name))
        must_confirm(context, self.yes, "reset all offsets of", names)

        async def act(name: str) -> TargetOutcome:
            return await reset(context, name, Action.RESET, stop=self.stop, why=self.reason)

        return await each(names, act)

    async def _would(self, context: CommandContext, name: str) -> TargetOutcome:
        await changeable(context, name, self.stop)
        return TargetOutcome(name, "offsets would be reset")


async def reset(context: CommandContext, name: str, action: Action, *, stop: bool, why: str | None) -> TargetOutcome:
    """All that there are."""
    now = model.offsets(await context.connect.offsets(name))
    entries = [{"partition": entry.partition, "offset": None} for entry in now]
    return await change(context, await planned(context, name, entries, stop=stop, why=why, action=action))


def number(text: str) -> int | str:
    return text if text == "null" else integer(text)


def parse_json(text: str, where: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON: {error}") from None


def parse_entries(text: str, where: str) -> list[Json]:
    """A list of entries, `{"offsets": [...]}` or a single entry; shapes are checked: a typo costs no request."""
    document = parse_json(text, where)
    if isinstance(document, dict):
        document = document["offsets"] if document.keys() == {"offsets"} else [document]
    refuse(not isinstance(document, list) or not document, f"{where}: expected a list of offsets, with at least one")
    for place, entry in enumerate(document, 1):
        _check_entry(entry, f"{where}: entry {place}")
    return list(document)


def _check_entry(entry: Json, where: str) -> None:
    refuse(not isinstance(entry, dict), f'{where} is no object with "partition" and "offset"')
    refuse(entry.keys() != {"partition", "offset"}, f'{where} must have "partition" and "offset", and nothing else')
    refuse(not isinstance(entry["partition"], dict), f"{where}: the partition is no JSON object")
    refuse(not isinstance(entry["offset"], dict | None), f"{where}: the offset is no JSON object and not null")
    refuse(is_negative(entry["offset"]), f"{where}: an offset is not negative")
