"""Source partitions and offsets of SparkSource.

    {"spark.source": "json /data/in"}      the source
    {"checkpoint": "…", "batch": 7}        batch 7 and all before it have been sent
    {"checkpoint": "…", "batch": 8, "rows": 5000, "spool": "…"}   so have the first 5,000 rows of batch 8

`checkpoint` names the folder with Spark's progress, below `spark.checkpoint` and the connector's name. A connector
without an offset starts with a new one. `spool` names the folder with the rows that are counted: when a batch is read
again, it may have other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition

SOURCE = "spark.source"
_CHECKPOINT, _BATCH, _ROWS, _SPOOL = "checkpoint", "batch", "rows", "spool"


@dataclass(frozen=True, slots=True)
class RowPosition:
    """A committed position. `rows`: how many rows of the batch, as they are in `spool`, have been sent; 0: all of
    them."""

    checkpoint: str
    batch: int
    rows: int = 0
    spool: str = ""

    @classmethod
    def of(cls, offset: Offset) -> RowPosition:
        """The position in a source offset; ConnectError if the offset is invalid."""
        unknown = sorted(set(map(str, offset)) - {_CHECKPOINT, _BATCH, _ROWS, _SPOOL})
        if unknown:
            raise ConnectError(
                f"An offset of SparkSource has the keys {_CHECKPOINT}, {_BATCH}, {_ROWS} and {_SPOOL}, "
                f"not {unknown[0]!r}"
            )
        if (_ROWS in offset) is not (_SPOOL in offset):
            raise ConnectError(
                f"{_ROWS!r} and {_SPOOL!r} in an offset of SparkSource must be given together. "
                f"{repeat_advice(_number(offset, _BATCH, 0))}"
            )
        checkpoint = offset.get(_CHECKPOINT)
        if not _is_name(checkpoint):
            raise ConnectError(
                f"{_CHECKPOINT!r} must be the checkpoint named in the connector's current offset: {checkpoint!r}. "
                "Reset the offset to read from the start"
            )
        if _ROWS not in offset:
            return cls(checkpoint, _number(offset, _BATCH, 0))
        if not _is_name(spool := offset[_SPOOL]):
            raise ConnectError(f"{_SPOOL!r} must be the folder named in the connector's offset: {spool!r}")
        return cls(checkpoint, _number(offset, _BATCH, 0), _number(offset, _ROWS, 1), spool)

    @property
    def done(self) -> int:
        """The last batch of which all rows have been sent; -1 if there is none."""
        return self.batch - 1 if self.rows else self.batch

    def offset(self) -> dict[str, Any]:
        """The position as a source offset."""
        offset: dict[str, Any] = {_CHECKPOINT: self.checkpoint, _BATCH: self.batch}
        return {**offset, _ROWS: self.rows, _SPOOL: self.spool} if self.rows else offset


def repeat_advice(batch: int) -> str:
    """How to read a batch again of which a part has been sent. Without its rows alone, the offset would say that the
    whole batch has been sent."""
    if batch == 0:
        return "To read batch 0 again, reset the offset"
    return f"To read batch {batch} again, remove {_ROWS!r} and {_SPOOL!r} and set {_BATCH!r} to {batch - 1}"


def source_partition(source_name: str) -> dict[str, str]:
    """The source partition of a connector."""
    return {SOURCE: source_name}


def check_partition(partition: Partition | None, source_name: str) -> None:
    """ConnectError unless the source partition is that of the connector."""
    expected = source_partition(source_name)
    if dict(partition or {}) != expected:
        raise ConnectError(f"The source partition of this configuration is {expected}, not {partition}")


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.replace("-", "").isalnum()


def _number(offset: Mapping[str, Any], key: str, least: int) -> int:
    value = offset.get(key)
    if type(value) is not int or value < least:
        raise ConnectError(f"{key!r} in an offset of SparkSource must be a whole number from {least}: {value!r}")
    return value
