"""Source offsets: the last change that was written, and what a snapshot has read.

All offsets of a connector have the partition `{"server": topic.prefix}`. `lsn_commit` is the position of a
transaction's commit: every transaction that was committed before it is complete. `lsn` and `event` name the last record
of that transaction: its position, and its number among the records with this position, counted from 0. Without them,
no record of that transaction has been written. PostgreSQL sends transactions in the order of their commits and the
changes of each always in the same order, so that these three numbers identify every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.postgres.views import SnapshotProgress

COMMIT, LSN, EVENT, XID, MICROS, SNAPSHOT = "lsn_commit", "lsn", "event", "txId", "ts_usec", "snapshot"
PROCESSED, LAST_ROW = "lsn_proc", "last_snapshot_record"
_DEBEZIUM = {PROCESSED, LAST_ROW}
_NUMBERS = (COMMIT, LSN, EVENT, XID, MICROS)


def partition_of(prefix: str) -> Partition:
    """The source partition of a connector."""
    return {"server": prefix}


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where reading continues: with the transaction committed at `commit`, behind `last` if that is set."""

    commit: int = 0
    last: tuple[int, int] | None = None
    progress: SnapshotProgress | None = None

    def offset(self) -> Offset:
        """The source offset of a position between two transactions."""
        return with_progress({COMMIT: self.commit}, self.progress)


def with_progress(offset: dict[str, Any], progress: SnapshotProgress | None) -> Offset:
    """The offset with what a snapshot has read, as long as that is needed."""
    if progress is not None:
        offset[SNAPSHOT] = progress.text
    return offset


def position_of(offset: Offset | None) -> LogPosition | None:
    """The position of a committed offset; None without one. ConnectError if it is not valid."""
    if not offset:
        return None
    if _DEBEZIUM & offset.keys():
        return _of_debezium(offset)
    numbers = {name: _number(offset, name) for name in _NUMBERS if offset.get(name) is not None}
    if COMMIT not in numbers:
        raise ConnectError(f"The offset needs '{COMMIT}', the position of a transaction's commit as a number")
    last = (numbers[LSN], numbers.get(EVENT, 0)) if LSN in numbers else None
    text = offset.get(SNAPSHOT)
    return LogPosition(numbers[COMMIT], last, None if text is None else SnapshotProgress.parse(text))


def _of_debezium(offset: Offset) -> LogPosition | None:
    """The position of an offset of Debezium's connector, at the start of the transaction that it may have cut; None if
    its snapshot is not complete. There `lsn_commit` is the end of the last complete transaction."""
    if PROCESSED in offset:
        return LogPosition(_number(offset, COMMIT if offset.get(COMMIT) is not None else PROCESSED))
    return LogPosition(_number(offset, LSN)) if offset.get(LAST_ROW) else None


def _number(offset: Mapping[str, Any], name: str) -> int:
    value = offset[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ConnectError(f"The offset's '{name}' must be a whole number of at most 63 bits, not {value!r}")
    return value


def check_change(prefix: str, partition: Partition | None, offset: Offset | None) -> None:
    """Raises ConnectError unless the connector can start from the offset. Any partition may be reset."""
    if offset is None:
        return
    if partition is None or dict(partition) != partition_of(prefix):
        raise ConnectError(f"The partition of this connector is {dict(partition_of(prefix))}, not {partition}")
    position_of(offset)
