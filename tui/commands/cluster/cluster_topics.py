"""`topics`: the topics of the Kafka cluster, with the connectors that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tui import model
from tui.commands.arguments import flag, option, positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table
from tui.commands.targets import selector
from tui.errors import NotFound
from tui.offsets.seek import in_thread
from tui.topics.topic_list import TopicSummary, topics, with_offsets
from tui.topics.usage import TopicUse, add_observed, uses


class Topics(Command):
    """List the topics of the Kafka cluster: partitions, records, and the connectors that use them.

    The context must name its brokers. Topics whose names begin with _ are listed with --all, or if a pattern matches.
    """

    verb = "topics"

    patterns = positionals("TOPIC", "topics; globs are allowed", at_least=0)
    regex = regex_flag()
    all = flag("-a", "--all", help="include internal topics, whose names begin with _")
    partitions = flag("-p", "--partitions", help="a row for each partition, with its first and last offset")
    connector = option("--connector", metavar="NAME", help="only the topics that this connector uses", convert=str)

    async def run(self, context: CommandContext) -> Result:
        context.cluster.kafka_settings()  # reports missing brokers before anything is read
        connectors = model.connectors(await context.cluster.connect.expanded())
        if self.connector is not None and self.connector not in connectors:
            raise NotFound(f"Connector {self.connector} not found", 404)
        brokers = context.cluster.brokers()
        summaries = await in_thread(lambda: topics(brokers, self._wanted()))
        if self.patterns and not summaries:
            raise NotFound(f"no topic matches {' '.join(self.patterns)}", 404)
        used = uses(connectors.values(), summaries)
        wanted = connectors if self.connector is None else {self.connector: connectors[self.connector]}
        await add_observed(context.cluster.connect, wanted.values(), used)
        if self.connector is not None:
            summaries = {
                topic: summary
                for topic, summary in summaries.items()
                if any(u.connector == self.connector for u in used[topic])
            }
        summaries = await in_thread(lambda: with_offsets(brokers, summaries.values()))
        raw = [document(topic, used[topic.name]) for topic in summaries.values()]
        table = _by_partition(summaries.values()) if self.partitions else _by_topic(summaries.values(), used)
        return Result(raw, table, names=tuple(summaries))

    def _wanted(self) -> Callable[[str], bool]:
        if self.patterns:
            return selector(self.patterns, self.regex)
        return lambda name: self.all or not name.startswith("_")


def document(topic: TopicSummary, used: Sequence[TopicUse]) -> Any:
    """A topic as JSON."""
    return {
        "topic": topic.name,
        "records": topic.records,
        "partitions": [
            {"partition": number, "earliest": topic.earliest[number], "latest": topic.latest[number]}
            for number in topic.partitions
        ],
        "connectors": [{"name": use.connector, "role": use.role} for use in used],
    }


def _by_topic(topics: Iterable[TopicSummary], used: Mapping[str, Sequence[TopicUse]]) -> Table:
    rows = tuple(
        (topic.name, len(topic.partitions), topic.records, ", ".join(map(str, used[topic.name]))) for topic in topics
    )
    return Table(("TOPIC", "PARTITIONS", "RECORDS", "USED BY"), rows)


def _by_partition(topics: Iterable[TopicSummary]) -> Table:
    rows = tuple(
        (
            topic.name,
            number,
            topic.earliest[number],
            topic.latest[number],
            topic.latest[number] - topic.earliest[number],
        )
        for topic in topics
        for number in topic.partitions
    )
    return Table(("TOPIC", "PARTITION", "EARLIEST", "LATEST", "RECORDS"), rows)
