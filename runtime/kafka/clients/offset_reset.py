"""`auto.offset.reset` of Java's consumer, whose durations (KIP-1106) librdkafka does not have."""

from __future__ import annotations

import re
from typing import Any

AGE = "headrace.offset.reset.age"
"""The key of the duration, in seconds, among librdkafka's settings. native_settings() removes it."""

_BY_DURATION = "by_duration"
_POLICIES = {"earliest": "earliest", "latest": "latest", "none": "error"}
_NUMBER = "[-+]?[0-9]+"
_DURATION = re.compile(  # of java.time.Duration.parse()
    rf"([-+]?)P(?:({_NUMBER})D)?(?:T(?=[-+0-9])(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER}(?:[.,][0-9]{{0,9}})?)S)?)?",
    re.IGNORECASE,
)
_UNITS = (86_400, 3600, 60, 1)  # seconds


def offset_reset(key: str, value: str) -> dict[str, Any]:
    """librdkafka's settings. A duration leaves the reset to the sink task. ValueError with Java's message."""
    policy, colon, duration = value.partition(":")
    if policy.lower() == _BY_DURATION:
        if not colon:
            raise ValueError("<:duration> part is missing in by_duration auto offset reset strategy.")
        return {"auto.offset.reset": "error", AGE: _seconds(duration)}
    if value.lower() not in _POLICIES:
        raise ValueError(f"Unknown auto offset reset strategy: {value}")
    return {"auto.offset.reset": _POLICIES[value.lower()]}


def _seconds(duration: str) -> float:
    match = _DURATION.fullmatch(duration)
    if match is None or not any(match.groups()[1:]):
        raise ValueError("Unable to parse duration string in by_duration offset reset strategy.")
    sign, *numbers = match.groups()
    parts = (float((number or "0").replace(",", ".")) * unit for number, unit in zip(numbers, _UNITS, strict=True))
    seconds = sum(parts) * (-1 if sign == "-" else 1)
    if seconds < 0:
        raise ValueError("Negative duration is not supported in by_duration offset reset strategy.")
    return seconds
