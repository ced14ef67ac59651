"""A batch reader of a data source, read once or again and again: each read is a micro-batch.

The reader's offset counts the reads: {"reads": 3, "read_at": 1769472000000}, with the time in milliseconds at which the
last one began.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.connectors.data_source.readers import MicroBatch, PartitionedBatch, ReaderOffset

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

READS, READ_AT = "reads", "read_at"


class BatchReads:
    """A MicroBatchReader. Each read has a reader of its own, as each query of Spark."""

    def __init__(
        self, source: DataSource, schema: StructType, threads: int, interval: float | None,
        now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """`interval`: seconds between the starts of two reads; None for one read. `now` in seconds since 1970."""
        self._source, self._schema, self._threads = source, schema, threads
        self._interval, self._now = interval, now

    def initial(self) -> ReaderOffset:
        return {READS: 0}

    def following(self, start: ReaderOffset) -> tuple[ReaderOffset, MicroBatch | None]:
        reads, now = _number(start, READS), self._now()
        if reads and (self._interval is None or 0 <= now - _number(start, READ_AT) / 1000 < self._interval):
            return start, None  # a time in the future, as of a clock that was ahead, does not delay the next read
        end = {READS: reads + 1, READ_AT: int(now * 1000)}
        return end, self.batch(start, end)

    def batch(self, start: ReaderOffset, end: ReaderOffset) -> MicroBatch:
        from pyspark.sql.datasource import InputPartition

        reader: Any = self._source.reader(self._schema)
        return PartitionedBatch(reader, list(reader.partitions()) or [InputPartition(None)], self._threads)

    def commit(self, end: ReaderOffset) -> None:
        """A batch reader is not told."""

    def stop(self) -> None:
        """A batch reader has no stop()."""


def _number(offset: ReaderOffset, name: str) -> int:
    number = offset.get(name, 0)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ConnectError(f"The '{name}' of the offset must be a number: {number!r}")
    return number
