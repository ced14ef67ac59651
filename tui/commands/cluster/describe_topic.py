"""`describe topic`: partitions, configurations, consumer groups, connectors and growth of one topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui import model
from tui.commands.arguments import duration, option, positional
from tui.commands.base import Command
from tui.commands.cluster.cluster_topics import document
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table
from tui.formatting import counted
from tui.offsets.seek import in_thread
from tui.topics.topic_details import EndsSample, TopicDetails, TopicInspector, growth
from tui.topics.usage import TopicUse, add_observed, uses

DEFAULT_INTERVAL = 2.0  # seconds


class DescribeTopic(Command):
    """Show a topic: partitions, consumer groups with their lag, configurations that differ from the defaults, the
    connectors that use it, and its growth between two reads of its end offsets.

    The context must name its brokers.
    """

    verb = "describe topic"

    topic = positional("TOPIC", "the topic")
    lasting = option(
        "--for",
        metavar="TIME",
        help=f"time between the two reads of the end offsets, by default {DEFAULT_INTERVAL:g}s; 0s without growth",
        convert=duration,
    )

    async def run(self, context: CommandContext) -> Result:
        inspector = TopicInspector(context.cluster.brokers(), self.topic)
        connect, clock = context.cluster.connect, context.clock
        connectors = model.connectors(await connect.expanded())
        used = uses(connectors.values(), [self.topic])
        await add_observed(connect, connectors.values(), used)
        roles = used[self.topic]
        sinks = [connectors[use.connector] for use in roles if use.role == "read"]
        topic = await in_thread(lambda: inspector.details(sinks))
        first = EndsSample(clock(), topic.summary.latest)
        rates: dict[int, float] = {}
        if interval := DEFAULT_INTERVAL if self.lasting is None else self.lasting:
            await connect.sleep(interval)
            topic = await in_thread(lambda: inspector.with_progress(topic))
            rates = growth(first, EndsSample(clock(), topic.summary.latest))
        for note in topic.notes:
            context.terminal.report(note)
        return Result(
            _document(topic, roles, rates),
            text=_text(topic, roles, rates),
            names=(self.topic,),
            parts=tuple(table for table in (_groups(topic), _configs(topic), _partitions(topic, rates)) if table.rows),
        )


def _document(topic: TopicDetails, used: Sequence[TopicUse], rates: Mapping[int, float]) -> Any:
    document_ = document(topic.summary, used)
    for partition, replicas in zip(document_["partitions"], topic.replicas, strict=True):
        partition |= {
            "records_per_second": rates.get(replicas.partition),
            "leader": replicas.leader,
            "replicas": list(replicas.replicas),
            "in_sync": list(replicas.in_sync),
        }
    return {
        **document_,
        "records_per_second": sum(rates.values()) if rates else None,
        "configs": [config._asdict() for config in topic.configs],
        "groups": [
            {
                "group": group.name,
                "state": group.state or None,
                "lag": group.lag(topic.summary.latest),
                "offsets": {str(number): offset for number, offset in sorted(group.committed.items())},
                "connectors": list(group.sinks),
            }
            for group in topic.groups
        ],
        "notes": list(topic.notes),
    }


def _text(topic: TopicDetails, used: Sequence[TopicUse], rates: Mapping[int, float]) -> str:
    copies = max(len(replicas.replicas) for replicas in topic.replicas)
    facts = {
        "topic": topic.summary.name,
        "partitions": f"{len(topic.replicas):,}, {counted(copies, 'replica')} each"
        + (f", {topic.degraded:,} not in sync" if topic.degraded else ""),
        "records": f"{topic.summary.records:,}",
        "growth": f"{sum(rates.values()):,.1f} records/s" if rates else "",
        "connectors": ", ".join(map(str, used)),
    }
    return "\n".join(f"{name:<12} {value}" for name, value in facts.items() if value)


def _groups(topic: TopicDetails) -> Table:
    latest = topic.summary.latest
    rows = tuple(
        (
            group.name,
            group.state,
            f"{len(group.committed)}/{len(topic.replicas)}",
            group.lag(latest),
            ", ".join(group.sinks),
        )
        for group in topic.groups
    )
    return Table(("GROUP", "STATE", "PARTITIONS", "LAG", "CONNECTORS"), rows)


def _configs(topic: TopicDetails) -> Table:
    rows = tuple(
        (config.name, "(hidden)" if config.value is None else config.value, config.default, config.source)
        for config in topic.configs
    )
    return Table(("CONFIG", "VALUE", "DEFAULT", "SET FOR"), rows)


def _partitions(topic: TopicDetails, rates: Mapping[int, float]) -> Table:
    earliest, latest = topic.summary.earliest, topic.summary.latest
    rows = tuple(
        (
            each.partition,
            earliest[each.partition],
            latest[each.partition],
            latest[each.partition] - earliest[each.partition],
            round(rates[each.partition], 1) if each.partition in rates else None,
            each.leader,
            " ".join(map(str, each.replicas)),
            " ".join(map(str, each.in_sync)),
        )
        for each in topic.replicas
    )
    columns = ("PARTITION", "EARLIEST", "LATEST", "RECORDS", "RECORDS/S", "LEADER", "REPLICAS", "IN SYNC")
    return Table(columns, rows)
