"""Which connectors use a topic, as far as their configs tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tui.model import Connector
from tui.offsets.seek import topic_filter

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
DEAD_LETTER_ROLE = "dead letters"  # workers do not track whether they have written to the topic


class TopicUse(NamedTuple):
    """The use of a topic by a connector: `role` is read, written or dead letters."""

    connector: str
    role: str

    def __str__(self) -> str:
        return self.connector if self.role == "read" else f"{self.connector} ({self.role})"


def named_topics(config: Mapping[str, str]) -> dict[str, str]:
    """Topics that the config names, with their roles."""
    named = {topic.strip(): "read" for topic in config.get("topics", "").split(",") if topic.strip()}
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
