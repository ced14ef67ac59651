"""The keys that every sink connector has, and the rules about its topics."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigKey, ConfigValue, Importance, Type, Width
from runtime.api.config.types import java_trim
from runtime.api.config.validators import distinct_entries, regex
from runtime.api.java_compat.regex import java_regex
from runtime.definitions.common import COMMON, ERRORS

_HIGH, _MEDIUM = Importance.HIGH, Importance.MEDIUM
_DLQ = "errors.deadletterqueue.topic.name"

SINK_KEYS = (
    ConfigKey(
        "topics", Type.LIST, "", _HIGH, "The topics to read, separated by commas.", distinct_entries, COMMON, 4,
        Width.LONG, "Topics",
    ),
    ConfigKey(
        "topics.regex", Type.STRING, "", _HIGH, "Instead of topics: a regular expression for the names of the topics "
        "to read. New topics are found as they appear.", regex, COMMON, 4, Width.LONG, "Topics regex",
    ),
    ConfigKey(
        _DLQ, Type.STRING, "", _MEDIUM, "Topic for records that cannot be processed, where these are tolerated; none "
        "when empty.", None, ERRORS, 6, Width.MEDIUM, "Dead Letter Queue Topic Name",
    ),
    ConfigKey(
        "errors.deadletterqueue.topic.replication.factor", Type.SHORT, 3, _MEDIUM, "Replicas of that topic when it has "
        "to be created.", None, ERRORS, 7, Width.MEDIUM, "Dead Letter Queue Topic Replication Factor",
    ),
    ConfigKey(
        "errors.deadletterqueue.context.headers.enable", Type.BOOLEAN, False, _MEDIUM, "Whether records in that topic "
        "tell, in headers named __connect.errors.*, where they come from and what went wrong.", None, ERRORS, 8,
        Width.MEDIUM, "Enable Error Context Headers",
    ),
)  # fmt: skip


def check_topics(values: Mapping[str, ConfigValue], given: Mapping[str, str]) -> None:
    """Either topics or topics.regex; and what a sink puts aside must not come back to it."""
    topics, pattern, dlq = values["topics"], values["topics.regex"], values[_DLQ]
    has_topics, has_pattern = (bool(java_trim(given.get(key.name, ""))) for key in (topics, pattern))
    if has_topics and has_pattern:
        _both(topics, pattern, "topics and topics.regex are mutually exclusive options, but both are set.")
    elif not has_topics and not has_pattern:
        _both(topics, pattern, "Must configure one of topics or topics.regex")
    if not dlq.value:
        return
    if topics.value and dlq.value in topics.value:
        listed = ", ".join(topics.value)
        topics.errors.append(
            f"The DLQ topic '{dlq.value}' may not be included in the list of topics ('topics=[{listed}]') consumed by "
            "the connector"
        )
    if pattern.value and not pattern.errors and java_regex(pattern.value).fullmatch(dlq.value):
        pattern.errors.append(
            f"The DLQ topic '{dlq.value}' may not be matched by the regex for the topics "
            f"('topics.regex={pattern.value}') consumed by the connector"
        )


def _both(topics: ConfigValue, pattern: ConfigValue, message: str) -> None:
    topics.errors.append(message)
    pattern.errors.append(message)
