"""Configuration keys, and a validator of them, that several connectors have."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.types import invalid
from runtime.api.config.validators import non_empty

TOPIC_KEY = ConfigKey("topic", ConfigType.STRING, importance=Importance.HIGH, doc="Topic for the records.",
    validator=non_empty, width=Width.MEDIUM, display_name="Topic")  # fmt: skip
"""The topic that a source writes."""


def regular_expressions(name: str, value: Any) -> None:
    """Validates a list of regular expressions."""
    import regex  # by connectors with such expressions only

    for pattern in value or ():
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise invalid(name, value, f"{pattern!r} is not a regular expression: {error}") from None
