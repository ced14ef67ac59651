"""Configuration keys common to all sink connectors, and the checks of their topics."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.config.types import java_trim
from runtime.api.config.validators import distinct_entries, regex
from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.definitions.common import COMMON, ERRORS

_HIGH, _MEDIUM = Importance.HIGH, Importance.MEDIUM
_DLQ = "errors.deadletterqueue.topic.name"

SINK_KEYS = (
    *grouped(COMMON, 4,
        ConfigKey("topics", ConfigType.LIST, "", _HIGH, "Topics to consume, separated by commas.", distinct_entries,
             width=Width.LONG, display_name="Topics"),
    ),
    *grouped(COMMON, 4,
        ConfigKey("topics.regex", ConfigType.STRING, "", _HIGH, "Java regular expression for the names of the topics "
             "to consume, instead of topics. New topics that match are consumed too.", regex, width=Width.LONG,
             display_name="Topics regex"),
    ),
    *grouped(ERRORS, 6,
        ConfigKey(_DLQ, ConfigType.STRING, "", _MEDIUM, "Topic for records that cannot be processed, if errors are "
             "tolerated; empty for none.", width=Width.MEDIUM, display_name="Dead Letter Queue Topic Name"),
        ConfigKey("errors.deadletterqueue.topic.replication.factor", ConfigType.SHORT, 3, _MEDIUM,
             "Replication factor of the dead letter queue topic if the worker creates it.", width=Width.MEDIUM,
             display_name="Dead Letter Queue Topic Replication Factor"),
        ConfigKey("errors.deadletterqueue.context.headers.enable", ConfigType.BOOLEAN, False, _MEDIUM,
             "Whether records in the dead letter queue carry headers (__connect.errors.*) with their origin and error.",
             width=Width.MEDIUM, display_name="Enable Error Context Headers"),
    ),
)  # fmt: skip


def check_topics(values: Mapping[str, ConfigValue], given: Mapping[str, str]) -> None:
    """Exactly one of topics and topics.regex must be set, and neither may include the dead letter queue topic."""
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
    if pattern.value and not pattern.errors:
        _check_pattern(pattern, dlq.value)


def _check_pattern(pattern: ConfigValue, dlq: str) -> None:
    try:
        if LimitedMatch(pattern.value)(dlq):
            pattern.errors.append(
                f"The DLQ topic '{dlq}' may not be matched by the regex for the topics "
                f"('topics.regex={pattern.value}') consumed by the connector"
            )
    except ConfigError as error:
        pattern.errors.append(str(error))


def _both(topics: ConfigValue, pattern: ConfigValue, message: str) -> None:
    topics.errors.append(message)
    pattern.errors.append(message)
