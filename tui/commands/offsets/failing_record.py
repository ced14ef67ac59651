"""The record with which a sink without a dead letter topic fails: showing it, and skipping it as one operation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tui import model
from tui.client.versions import ALTER_OFFSETS
from tui.commands.arguments import integer, option, positional
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.context import CommandContext
from tui.commands.offsets.altering import REASON_HELP
from tui.commands.offsets.changing import apply_plan, change_text, state_of
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.settling import Goal, settle_option, settled
from tui.commands.targets import for_each
from tui.errors import CONFLICT, HeadraceError, NotFound, Refused
from tui.formatting import counted
from tui.model import Connector, Offset, topics_read
from tui.offsets.bounds import topic_partition
from tui.offsets.brokers import TopicPartition
from tui.offsets.changes import OffsetChange, changes
from tui.offsets.plan import OffsetPlan, OffsetsNotApplied
from tui.offsets.seek import in_thread
from tui.topics import failing_records
from tui.topics.decoding import decoder
from tui.topics.failing_records import FailingPartition
from tui.topics.reader import TopicReader
from tui.topics.records import TopicRecord

if TYPE_CHECKING:
    from tui.client.client import Connect

COLUMNS = ("TOPIC", "PARTITION", "OFFSET", "KEY", "VALUE", "AT FAULT")


class GetFailingRecords(Command):
    """Show the record with which a failed sink stands still, in each partition with lag.

    It is known if the worker reports it, or if the sink's converters cannot decode it. Otherwise the first record that
    was not processed is shown. The context must name its brokers."""

    verb = "get failing records"

    name = positional("NAME", "a sink")

    async def run(self, context: CommandContext) -> Result:
        _, partitions = await read(context, self.name)
        items = [
            {**each.shown.as_json(), "at_fault": each.fault is not None, "why": each.why, "before": each.before_fault}
            for each in partitions
        ]
        rows = tuple(
            (each.topic, each.partition, each.shown.record.offset, each.shown.key.line, each.shown.value.line,
             each.why or "unknown")
            for each in partitions
        )  # fmt: skip
        return Result(items, Table(COLUMNS, rows), names=tuple(each.name for each in partitions))


class SkipRecord(ChangingCommand):
    """Skip the record with which a sink fails: save it to a file, stop the sink, set its offset behind the record,
    read the offset back and resume the sink.

    Without --topic and --partition, the partition with the record at fault. Records before it in the failed batch are
    skipped only if -n includes them. The context must name its brokers."""

    verb = "skip record"
    danger = Danger.ASK
    needs = ALTER_OFFSETS

    name = positional("NAME", "a sink")
    topic = option("--topic", metavar="TOPIC", help="the topic, with --partition", convert=str)
    partition = option("--partition", metavar="N", help="the partition of the topic", convert=integer)
    count = option(
        "-n", "--count", metavar="N", help="records from the committed offset on, by default 1", convert=integer
    )
    file = option(
        "-f", "--file", metavar="FILE", help="the file for the skipped records, as lines of JSON", convert=str
    )
    reason = option("--reason", metavar="TEXT", help=REASON_HELP, convert=str)
    settle = settle_option()

    def check(self) -> None:
        refuse((self.topic is None) is not (self.partition is None), "give --topic and --partition together")
        most, count = failing_records.MAX_RECORDS, 1 if self.count is None else self.count
        refuse(not 1 <= count <= most, f"-n must be between 1 and {most}")

    async def run(self, context: CommandContext) -> Result:
        name = self.name
        base, partitions = await read(context, name)
        chosen = self._chosen(partitions)
        records = self._records(chosen)
        for record in chosen.records[: len(records)]:
            text = f"{chosen.name}@{record.record.offset}: key {record.key.line}, value {record.value.line}"
            context.terminal.report(f"{name}: {text}")
        if self.dry_run:
            return confirmation([TargetOutcome(name, f"would set {change_text(skip(base, records))}")])
        if not self.yes and not context.terminal.confirm(f"skip {counted(len(records), 'record')} of {chosen.name}?"):
            raise HeadraceError("not confirmed; nothing was changed")
        file = skipped_file(name, self.file)
        state = await state_of(context.cluster, name)

        async def act(name: str) -> TargetOutcome:
            return await carry_out_skip(context, name, base, records, file, state, self.reason or "")

        goals = {name: Goal(state if state in ("PAUSED", "STOPPED") else "RUNNING")}
        return await settled(context, await for_each([name], act), goals, self.settle)

    def _chosen(self, partitions: Sequence[FailingPartition]) -> FailingPartition:
        if self.topic is not None:
            for each in partitions:
                if (each.topic, each.partition) == (self.topic, self.partition):
                    return each
            raise NotFound(f"{self.name} has no unprocessed records in {self.topic}-{self.partition}", 404)
        known = [each for each in partitions if each.fault is not None] or list(partitions)
        if not known:
            raise NotFound(f"{self.name} has no unprocessed records", 404)
        if len(known) > 1:
            names = ", ".join(each.name for each in known)
            raise _refused(f"the record at fault may be in {names}", "choose with --topic and --partition")
        return known[0]

    def _records(self, chosen: FailingPartition) -> list[TopicRecord]:
        """The records to skip. Raises HeadraceError if others come before the record at fault and -n is not given."""
        if self.count is None and (before := chosen.before_fault):
            raise _others_first(self.name, chosen, before)
        return [each.record for each in chosen.records[: self.count or 1]]


def _refused(message: str, advice: str) -> HeadraceError:
    error = HeadraceError(message, advice)
    error.exit_code = CONFLICT
    return error


def _others_first(name: str, chosen: FailingPartition, before: int) -> HeadraceError:
    were = "was" if before == 1 else "were"
    return _refused(
        f"the record at fault is {chosen.name}@{chosen.fault}, and {counted(before, 'record')} of its batch before it, "
        f"from {chosen.first.offset} on, {were} not processed either",
        f"deliver them first: `patch connector {quote(name)} -s consumer.override.max.poll.records=1`, then `restart "
        f"{quote(name)} -t FAILED`; or skip and save them too: -n {before + 1}",
    )


def skip(base: Sequence[Offset], records: Sequence[TopicRecord]) -> OffsetChange:
    """The change that sets the offset of the records' partition behind the last of them."""
    last = records[-1]
    partition = {"kafka_topic": last.topic, "kafka_partition": last.partition}
    (change,) = changes(base, [Offset(partition, {"kafka_offset": last.offset + 1})])
    return change


def committed_offsets(offsets: Sequence[Offset]) -> dict[TopicPartition, int]:
    """The offsets of a sink by partition."""
    return {
        at: int(entry.offset["kafka_offset"])
        for entry in offsets
        if entry.offset and (at := topic_partition(entry.partition)) is not None
    }


def skipped_file(name: str, given: str | None = None) -> Path:
    """The file for skipped records: the given one, or a new one in the console's folder."""
    from tui.user_folders import state_folder

    if given:
        return Path(given).expanduser()
    return failing_records.default_file(state_folder(os.environ), name)


async def read(context: CommandContext, name: str) -> tuple[tuple[Offset, ...], list[FailingPartition]]:
    """The sink's committed offsets, and its partitions with lag. Raises HeadraceError."""
    from tui.contexts.secrets import resolved

    cluster = context.cluster
    settings = cluster.kafka_settings()
    connector = model.connector(name, await cluster.connect.status(name), await cluster.connect.info(name))
    if why := why_none(connector):
        raise HeadraceError(why)
    offsets = model.offsets(await cluster.connect.offsets(name))
    failures = await reported(cluster.connect, name)
    return offsets, await partitions_of(connector, offsets, failures, settings, resolved(cluster.profile.registry))


def why_none(connector: Connector) -> str:
    """The reason why the connector stands on no record; empty if it may stand on one."""
    if connector.type != "sink":
        return f"{connector.name} is not a sink: only sinks read records from Kafka"
    if connector.overall not in ("FAILED", "STOPPED"):
        return f"no task of {connector.name} has failed: it is {connector.overall}"
    return ""


async def reported(connect: Connect, name: str) -> dict[TopicPartition, int]:
    """The last failed records that a Headrace worker reports; none of other workers."""
    try:
        return failing_records.last_failures(await connect.errors(name))
    except Refused:
        return {}


async def partitions_of(
    connector: Connector,
    offsets: Sequence[Offset],
    reported: dict[TopicPartition, int],
    settings: dict[str, str],
    registry: dict[str, str],
) -> list[FailingPartition]:
    """The partitions with lag of a sink, read from the brokers. Raises HeadraceError."""
    committed = committed_offsets(offsets)
    topics = set(topics_read(connector.config)) or {topic for topic, _ in committed}
    decode = decoder(connector.config, registry)
    override = connector.config.get("consumer.override.max.poll.records", "")
    batch = int(override) if override.isdecimal() else failing_records.BATCH
    isolation = connector.config.get("consumer.override.isolation.level")

    def work() -> list[FailingPartition]:
        reader = TopicReader(settings, committed=isolation == "read_committed")
        try:
            return failing_records.failing_partitions(reader, decode, sorted(topics), committed, reported, batch)
        finally:
            reader.close()

    return await in_thread(work)


async def carry_out_skip(
    context: CommandContext,
    name: str,
    base: tuple[Offset, ...],
    records: Sequence[TopicRecord],
    file: Path,
    state: str,
    reason: str,
) -> TargetOutcome:
    """Saves the records, then changes the offset. Raises HeadraceError; if the offset has moved since `base` was read,
    nothing is skipped."""
    change, at = skip(base, records), (records[0].topic, records[0].partition)
    first, last = records[0].offset, records[-1].offset
    places = f"{at[0]}-{at[1]}@{first}" + (f" to {last}" if last != first else "")
    try:
        failing_records.save(file, name, records)
    except OSError as error:
        raise HeadraceError(f"nothing was skipped: cannot write {file}: {error.strerror}") from None
    context.terminal.report(f"{name}: {counted(len(records), 'record')} saved to {file}")

    async def unmoved() -> tuple[OffsetChange, ...]:
        now = committed_offsets(model.offsets(await context.cluster.connect.offsets(name))).get(at)
        if now != committed_offsets(base).get(at):
            raise OffsetsNotApplied(f"the sink is at offset {now} meanwhile: nothing was skipped", code=CONFLICT)
        return (change,)

    why = reason or f"skipped {places}, saved to {file}"
    plan = OffsetPlan(name, base, (change,), state, ran=state != "STOPPED", why=why)
    try:
        done = await apply_plan(context, plan, unmoved)
    except OffsetsNotApplied as error:
        if not error.unfinished:
            failing_records.discard(file)
        raise
    if done.failed:
        return done
    return done._replace(message=f"skipped {places}, saved to {file}", verdict=None, raw=None)
