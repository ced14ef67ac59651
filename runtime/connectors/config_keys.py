"""Configuration keys, and validators of them, that several connectors have."""

from __future__ import annotations

import re
from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.types import invalid
from runtime.api.config.validators import non_empty

TOPIC_KEY = ConfigKey("topic", ConfigType.STRING, importance=Importance.HIGH, doc="Topic for the records.",
    validator=non_empty, width=Width.MEDIUM, display_name="Topic")  # fmt: skip
"""The topic that a source writes."""

STREAM, ONCE, INTERVAL = "stream", "once", "interval"
"""How a source reads: what is new, everything once, or everything again and again."""

_INTERVAL = re.compile(
    r"\s*(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?|d|days?)\s*", re.IGNORECASE
)
_SECONDS = {"d": 86_400.0, "m": 60.0, "h": 3600.0, "s": 1.0}


def regular_expressions(name: str, value: Any) -> None:
    """Validates a list of regular expressions."""
    import regex  # by connectors with such expressions only

    for pattern in value or ():
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise invalid(name, value, f"{pattern!r} is not a regular expression: {error}") from None


def interval(text: str) -> float:
    """Seconds of a text such as `10 seconds`, as in Spark's triggers. ValueError if it is not understood."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise ValueError("Must be a number with a unit, such as 500 ms, 10 seconds or 1 minute")
    unit = match[2].lower()
    return float(match[1]) * (0.001 if unit.startswith(("ms", "milli")) else _SECONDS[unit[0]])


def is_interval(name: str, value: Any) -> None:
    """ConfigError unless the value is a number with a unit of time."""
    try:
        interval(str(value))
    except ValueError as error:
        raise invalid(name, value, str(error)) from None
