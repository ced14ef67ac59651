"""The time of records: their timestamp in Kafka, or the value of a field."""

from __future__ import annotations

import datetime as dt
from typing import Any

from runtime.api.data.columns import Column, MixedBatchError, ValueBatch
from runtime.api.data.logical import instant, millis
from runtime.connectors.files.sink.chunk import Chunk


def record_times(chunk: Chunk, field: str) -> list[int | None]:
    """Milliseconds since 1970 for each record; None if it has no valid time. `field` is empty for the timestamp."""
    column = field_column(chunk.values, field) if field else chunk.timestamps()
    return [_time(value) for value in column]


def field_column(values: ValueBatch, path: str) -> Column:
    """A field of the values, also a nested one (`a.b`); None where it is missing."""
    first, *rest = path.split(".")
    try:
        column = values.columns.get(first)
        found: Column = [None] * values.count if column is None else column
    except MixedBatchError:
        found = [_field(row, first) for row in values.rows]
    for name in rest:
        found = [_field(value, name) for value in found]
    return found


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _time(value: Any) -> int | None:
    if type(value) is int:
        return value if value >= 0 else None
    if isinstance(value, dt.datetime | dt.date):
        return millis(instant(value))
    if isinstance(value, str):
        try:
            return millis(instant(dt.datetime.fromisoformat(value)))
        except ValueError:
            return None
    return None
