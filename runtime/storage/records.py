"""Parsing of records that other workers may have written; malformed records are logged and skipped."""

from __future__ import annotations

import json
import logging
from typing import Any

from runtime.kafka.log.log import LogRecord


class MalformedRecord(Exception):
    """The record has a format that no Connect worker writes."""


def json_object(value: bytes | None) -> dict[str, Any] | None:
    """A record's value: a JSON object, or None for a tombstone (or a JSON null)."""
    parsed = json_value(value)
    if parsed is not None and not isinstance(parsed, dict):
        raise MalformedRecord("the value is not a JSON object")
    return parsed


def json_value(data: bytes | None) -> Any:
    """The JSON value in a key or value, None for an absent key or value; MalformedRecord if it is not JSON."""
    if data is None:
        return None
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise MalformedRecord("not JSON") from None


def log_skipped(log: logging.Logger, topic: str, record: LogRecord, why: MalformedRecord) -> None:
    """Log which record is ignored, and why."""
    log.warning("Ignoring the record at offset %d of %s-%d: %s", record.offset, topic, record.partition, why)
