"""Configuration keys that every converter has."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, ConfigType, Importance
from runtime.api.config.validators import one_of

CONVERTER_TYPE = ConfigKey(
    "converter.type",
    ConfigType.STRING,
    importance=Importance.LOW,
    doc="What the converter is used for: key, value or header. The worker sets it.",
    validator=one_of("key", "value", "header"),
)
