"""Configuration keys common to all converters."""

from __future__ import annotations

from runtime.api.config.definition import ConfigKey, ConfigType, Importance
from runtime.api.config.validators import one_of

CONVERTER_TYPE = ConfigKey(
    "converter.type",
    ConfigType.STRING,
    importance=Importance.LOW,
    doc="Use of the converter: key, value or header. Set by the worker.",
    validator=one_of("key", "value", "header"),
)
