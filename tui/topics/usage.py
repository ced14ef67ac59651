"""Which connectors use a topic, as far as their configs tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tui.errors import Refused
from tui.model import Connector, topics_read
from tui.offsets.seek import topic_filter

if TYPE_CHECKING:
    from tui.client.client import Connect

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
DEAD_LETTER_ROLE = "dead letters"  # workers do not track whether they have written to the topic
MAX_OBSERVED = 200  # connectors whose topics are requested one by one


class TopicUse(NamedTuple):
    """The use of a topic by a connector: `role` is read, written or dead letters."""

    connector: str
    role: str

    def __str__(self) -> str:
        return self.connector if self.role == "read" else f"{self.connector} ({self.role})"


def named_topics(config: Mapping[str, str]) -> dict[str, str]:
    """Topics that the config names, with their roles."""
    named = dict.fromkeys(topics_read(config), "read")
    named |= {config[key]: "written" for key in ("topic", "kafka.topic") if config.get(key)}
    return named | ({config[DEAD_LETTERS]: DEAD_LETTER_ROLE} if config.get(DEAD_LETTERS) else {})


def uses(connectors: Iterable[Connector], topics: Iterable[str]) -> dict[str, list[TopicUse]]:
    """The uses of these topics, by topic; `topics.regex` counts, and so do topics that a config names."""
    uses_by_topic: dict[str, list[TopicUse]] = {topic: [] for topic in topics}
    for connector in connectors:
        roles = named_topics(connector.config)
        if connector.config.get("topics.regex"):
            is_read = topic_filter(connector.config)
            roles = {topic: "read" for topic in uses_by_topic if is_read(topic)} | roles
        for topic, role in roles.items():
            if topic in uses_by_topic:
                uses_by_topic[topic].append(TopicUse(connector.name, role))
    return uses_by_topic


async def add_observed(
    connect: Connect, connectors: Iterable[Connector], uses_by_topic: Mapping[str, list[TopicUse]]
) -> None:
    """Adds the topics that workers have seen connectors use (KIP-558), of connectors whose configs name none of these
    topics; those whose configs name no topic at all come first."""
    known = {use.connector for uses_of_topic in uses_by_topic.values() for use in uses_of_topic}
    unknown = [connector for connector in connectors if connector.name not in known]
    unknown.sort(key=lambda connector: bool(named_topics(connector.config)))
    for connector in unknown[:MAX_OBSERVED]:
        with suppress(Refused):  # topic tracking may be disabled
            response = await connect.topics(connector.name)
            for topic in (response.get(connector.name) or {}).get("topics") or ():
                if topic in uses_by_topic:
                    role = "read" if connector.type == "sink" else "written"
                    uses_by_topic[topic].append(TopicUse(connector.name, role))
