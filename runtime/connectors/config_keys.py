"""Configuration keys that several connectors have."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.validators import non_empty

TOPIC_KEY = ConfigKey("topic", ConfigType.STRING, importance=Importance.HIGH, doc="Topic for the records.",
    validator=non_empty, width=Width.MEDIUM, display_name="Topic")  # fmt: skip
"""The topic that a source writes."""
