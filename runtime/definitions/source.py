"""The keys that every source connector has."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, Importance, Type, Width
from runtime.api.config.validators import at_least, distinct_aliases, non_empty, one_of_ignoring_case, optional

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_EXACTLY_ONCE = "Exactly Once Support"

SOURCE_KEYS = (
    ConfigKey(
        "topic.creation.groups", Type.LIST, "", _LOW, "Names of groups of topics that the worker creates with settings "
        "of their own (topic.creation.<group>.*).", distinct_aliases, "Topic Creation", 1, Width.LONG,
        "Topic Creation Groups",
    ),
    ConfigKey(
        "exactly.once.support", Type.STRING, "requested", _MEDIUM, "requested: deliver exactly once where worker and "
        "connector can. required: refuse the connector where they cannot.",
        one_of_ignoring_case("REQUIRED", "REQUESTED"), _EXACTLY_ONCE, 2, Width.SHORT, "Exactly once support",
    ),
    ConfigKey(
        "transaction.boundary", Type.STRING, "poll", _MEDIUM, "Where transactions end when the worker delivers exactly "
        "once: poll, after each batch; interval, after some time; connector, where the connector says.",
        one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR"), _EXACTLY_ONCE, 3, Width.SHORT, "Transaction Boundary",
    ),
    ConfigKey(
        "transaction.boundary.interval.ms", Type.LONG, None, _LOW, "For interval: milliseconds between the ends of two "
        "transactions; the worker's offset.flush.interval.ms when not given.", optional(at_least(0)), _EXACTLY_ONCE, 4,
        Width.SHORT, "Transaction boundary interval",
    ),
    ConfigKey(
        "offsets.storage.topic", Type.STRING, None, _LOW, "A topic for this connector's offsets instead of the "
        "worker's.", non_empty, "offsets.topic", 1, Width.LONG, "Offsets topic",
    ),
)  # fmt: skip
