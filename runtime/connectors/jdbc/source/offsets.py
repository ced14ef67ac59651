"""Source partitions and offsets: those of Connect's other JDBC sources, so that committed positions stay readable.

A table has the partition `{"protocol": "1", "table": "schema.name"}`, a query `{"query": "query"}`. An offset holds
`incrementing` (a whole number), or `timestamp` (milliseconds since 1970) and `timestamp_nanos` (nanoseconds of the
second), or all three, depending on the mode.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.values import from_micros, micros

INCREMENTING, TIMESTAMP, NANOS = "incrementing", "timestamp", "timestamp_nanos"
_TABLE, _PROTOCOL, _QUERY = "table", "protocol", "query"
_LONG = 1 << 63


@dataclass(frozen=True, slots=True)
class Position:
    """The last row that was read, by the values of its columns. None: no row yet."""

    incrementing: int | None = None
    timestamp: dt.datetime | None = None


def table_partition(name: str) -> Partition:
    """The source partition of a table."""
    return {_PROTOCOL: "1", _TABLE: name}


QUERY_PARTITION: Partition = {_QUERY: "query"}


def to_offset(mode: Mode, incrementing: int | None, timestamp: dt.datetime | None) -> Offset:
    """The source offset of a row."""
    offset: dict[str, Any] = {}
    if mode.timestamp and timestamp is not None:
        total = micros(timestamp)
        offset |= {TIMESTAMP: total // 1000, NANOS: total % 1_000_000 * 1000}
    if mode.incrementing and incrementing is not None:
        offset[INCREMENTING] = incrementing
    return offset


def position_of(offset: Offset | None) -> Position:
    """The position of a committed offset; ConnectError if it is not valid."""
    if not offset:
        return Position()
    number, ms, nanos = (_number(offset, name) for name in (INCREMENTING, TIMESTAMP, NANOS))
    if ms is None:
        return Position(number)
    fraction = ms * 1000 % 1_000_000 if nanos is None else nanos // 1000
    try:
        return Position(number, from_micros(ms // 1000 * 1_000_000 + fraction))
    except OverflowError:
        raise ConnectError(f"The offset's '{TIMESTAMP}' is outside the years 1 to 9999: {ms}") from None


def _number(offset: Mapping[str, Any], name: str) -> int | None:
    value = offset.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not -_LONG <= value < _LONG:
        raise ConnectError(f"The offset's '{name}' must be a whole number of 64 bits, not {value!r}")
    if name == NANOS and not 0 <= value < 1_000_000_000:
        raise ConnectError(f"The offset's '{NANOS}' must be the nanoseconds of a second, not {value}")
    return value


def check_change(mode: Mode, is_query: bool, partition: Partition | None, offset: Offset | None) -> None:
    """Raises ConnectError unless a source with this mode can start from the offset. Any partition may be reset."""
    if offset is None:
        return
    _check_partition(is_query, partition)
    if mode is Mode.BULK:
        raise ConnectError("Offsets can only be reset in bulk mode, which reads all rows each time")
    wanted = {INCREMENTING} if mode.incrementing else set()
    wanted |= {TIMESTAMP} if mode.timestamp else set()
    allowed = wanted | ({NANOS} if mode.timestamp else set())
    if missing := sorted(name for name in wanted if offset.get(name) is None):
        raise ConnectError(f"An offset in mode {mode} needs the key '{missing[0]}'")
    if unknown := sorted(set(offset) - allowed):
        raise ConnectError(f"An offset in mode {mode} cannot have the key '{unknown[0]}'")
    position_of(offset)


def _check_partition(is_query: bool, partition: Partition | None) -> None:
    if partition is None:
        raise ConnectError("Partition objects cannot be null")
    if is_query:
        if dict(partition) != QUERY_PARTITION:
            raise ConnectError(f'The partition of a query is {{"{_QUERY}": "query"}}, not {dict(partition)}')
        return
    name = partition.get(_TABLE)
    if set(partition) != {_TABLE, _PROTOCOL} or partition[_PROTOCOL] != "1" or not isinstance(name, str) or not name:
        raise ConnectError(f'A partition needs the keys "{_PROTOCOL}": "1" and "{_TABLE}", not {dict(partition)}')
