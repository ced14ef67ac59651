"""Configuration keys common to all source connectors."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.validators import at_least, distinct_aliases, non_empty, one_of_ignoring_case, optional

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_EXACTLY_ONCE = "Exactly Once Support"

SOURCE_KEYS = (
    *grouped("Topic Creation", 1,
        ConfigKey("topic.creation.groups", ConfigType.LIST, "", _LOW, "Groups of topics that the worker creates with "
             "their own settings (topic.creation.<group>.*).", distinct_aliases, width=Width.LONG,
             display_name="Topic Creation Groups"),
    ),
    *grouped(_EXACTLY_ONCE, 2,
        ConfigKey("exactly.once.support", ConfigType.STRING, "requested", _MEDIUM, "requested: deliver exactly once if "
             "worker and connector support it. required: refuse the connector otherwise.",
             one_of_ignoring_case("REQUIRED", "REQUESTED"), width=Width.SHORT, display_name="Exactly once support"),
        ConfigKey("transaction.boundary", ConfigType.STRING, "poll", _MEDIUM, "When a transaction ends with "
             "exactly-once delivery: after each batch (poll), after transaction.boundary.interval.ms (interval), or "
             "where the connector defines it (connector).", one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR"),
             width=Width.SHORT, display_name="Transaction Boundary"),
        ConfigKey("transaction.boundary.interval.ms", ConfigType.LONG, None, _LOW,
             "Milliseconds between the ends of two transactions if transaction.boundary is interval; the default is "
             "the worker's offset.flush.interval.ms.", optional(at_least(0)), width=Width.SHORT,
             display_name="Transaction boundary interval"),
    ),
    *grouped("offsets.topic", 1,
        ConfigKey("offsets.storage.topic", ConfigType.STRING, None, _LOW, "Topic for this connector's offsets instead "
             "of the worker's offset topic.", non_empty, width=Width.LONG, display_name="Offsets topic"),
    ),
)  # fmt: skip
