"""Parses sink offsets of a request with Apache's checks and messages (FACTS.md, 6)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from runtime.herder.errors import BadRequest

_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_NUMBER = re.compile(r"[+-]?\d{1,4000}")  # as Java, with the digits of any script


def parse_sink_offsets(entries: Sequence[tuple[Any, Any]]) -> dict[tuple[str, int], int | None]:
    """Offsets by topic-partition, None for a reset; the last entry of a partition wins. BadRequest for an invalid
    entry."""
    return {_partition(partition): _offset(offset) for partition, offset in entries}


def _partition(value: dict[str, Any] | None) -> tuple[str, int]:
    if value is None:
        raise BadRequest("The partition for a sink connector offset cannot be null or missing")
    if _TOPIC not in value or _PARTITION not in value:
        raise BadRequest(
            f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        )
    if not isinstance(value[_TOPIC], str | int | float):  # Java's workers use the text of a number as the name
        raise BadRequest("Kafka topic names must be valid strings and may not be null")
    if value[_PARTITION] is None:
        raise BadRequest("Kafka partitions must be valid numbers and may not be null")
    topic, number = _java_text(value[_TOPIC]), _integer(value[_PARTITION], "partition", "Partition", 32)
    if number < 0:
        raise BadRequest(f"Kafka partitions must not be negative, but {number} was given for '{topic}'")
    return topic, number


def _offset(value: dict[str, Any] | None) -> int | None:
    if value is None:
        return None
    if _OFFSET not in value:
        raise BadRequest(f"The offset for a sink connector should either be null or contain the key '{_OFFSET}'")
    number = _integer(value[_OFFSET], "offset", "Offset", 64)
    if number < 0:
        raise BadRequest(f"Kafka offsets must not be negative, but {number} was given")
    return number


def _integer(value: Any, what: str, title: str, bits: int) -> int:
    """A JSON integer, or an integer in a string as Java parses it: without blanks, within this many bits."""
    text, limit = _java_text(value), 1 << (bits - 1)
    if _NUMBER.fullmatch(text) and -limit <= int(text) < limit:
        return int(text)
    raise BadRequest(
        f"Failed to parse the following Kafka {what} value in the provided offsets: '{text}'. "
        f"{title} values for sink connectors need to be integers."
    )


def _java_text(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
