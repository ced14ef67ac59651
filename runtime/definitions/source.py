"""Configuration keys common to all source connectors."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.validators import at_least, distinct_aliases, non_empty, one_of_ignoring_case, optional

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_EXACTLY_ONCE = "Exactly Once Support"

SOURCE_KEYS = (
    ConfigKey(
        "topic.creation.groups", ConfigType.LIST, "", _LOW,
        "Groups of topics that the worker creates with their own settings (topic.creation.<group>.*).",
        distinct_aliases, "Topic Creation", 1, Width.LONG, "Topic Creation Groups",
    ),
    ConfigKey(
        "exactly.once.support", ConfigType.STRING, "requested", _MEDIUM,
        "requested: deliver exactly once if worker and connector support it. required: refuse the connector otherwise.",
        one_of_ignoring_case("REQUIRED", "REQUESTED"), _EXACTLY_ONCE, 2, Width.SHORT, "Exactly once support",
    ),
    ConfigKey(
        "transaction.boundary", ConfigType.STRING, "poll", _MEDIUM,
        "When a transaction ends with exactly-once delivery: after each batch (poll), after "
        "transaction.boundary.interval.ms (interval), or where the connector defines it (connector).",
        one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR"), _EXACTLY_ONCE, 3, Width.SHORT, "Transaction Boundary",
    ),
    ConfigKey(
        "transaction.boundary.interval.ms", ConfigType.LONG, None, _LOW,
        "Milliseconds between the ends of two transactions if transaction.boundary is interval; the default is the "
        "worker's offset.flush.interval.ms.", optional(at_least(0)), _EXACTLY_ONCE, 4, Width.SHORT,
        "Transaction boundary interval",
    ),
    ConfigKey(
        "offsets.storage.topic", ConfigType.STRING, None, _LOW,
        "Topic for this connector's offsets instead of the worker's offset topic.", non_empty, "offsets.topic", 1,
        Width.LONG, "Offsets topic",
    ),
)  # fmt: skip
