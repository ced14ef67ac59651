"""The records of a batch before Spark writes them: columns in memory, then a Parquet file that Spark reads.

Spark reads a Parquet file three times as fast as it takes Arrow batches from Python, and its executors do it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.connectors.files.arrow_merge import conformed
from runtime.connectors.files.sink.chunk import Chunk
from runtime.connectors.spark.sink.columns import stored_schema

PARALLEL_ROWS = 100_000
"""Rows from which on a batch has two row groups, so that two tasks of Spark write it, each a file."""


@dataclass(slots=True)
class CollectedRows:
    """Record batches, and the offsets that they cover: the first one, and the one behind the last record."""

    starts: dict[TopicPartition, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    count: int = 0
    size: int = 0  # bytes
    opened: float = 0.0
    parts: list[Any] = field(default_factory=list)
    sources: list[tuple[int, Chunk, int]] = field(default_factory=list)
    """First row, records, and the index of the first record of each part; only if records may be reported later."""

    def cover(self, tp: TopicPartition, start: int, end: int, now: float) -> None:
        """The batch has all records of the partition up to the offset `end`, from `start` if it is its first."""
        if not self.starts:
            self.opened = now
        self.starts[tp] = min(self.starts.get(tp, start), start)
        self.ends[tp] = end

    def add(self, rows: Any) -> None:
        """Add a record batch."""
        self.parts.append(rows)
        self.count += rows.num_rows
        self.size += rows.nbytes

    def keep_source(self, chunk: Chunk, start: int) -> None:
        """Remember the records, from index `start`, of the rows that are added next."""
        self.sources.append((self.count, chunk, start))

    def record(self, row: int) -> SinkRecord:
        first, chunk, start = self.sources[bisect_right(self.sources, row, key=itemgetter(0)) - 1]
        return chunk.record(start + row - first)

    def write(self, path: Path, schema: Any) -> None:
        """Write the rows with the columns of `schema`, to which those of each part belong."""
        rows = self.table(schema)
        group = len(rows) if len(rows) < PARALLEL_ROWS else -(-len(rows) // 2)
        parquet.write_table(
            rows, path, row_group_size=group or None, compression="none", use_dictionary=False, write_statistics=False
        )
        self.parts = []  # the rows are on disk

    def table(self, schema: Any) -> Any:
        """The rows that are written."""
        stored = stored_schema(schema)
        return pa.Table.from_batches([conformed(part, stored) for part in self.parts], stored)


def remove_rows(path: Path, indices: Sequence[int]) -> None:
    """Remove rows from a file that CollectedRows.write() has written."""
    rows = parquet.read_table(path)
    kept = rows.filter(_others(len(rows), indices))
    parquet.write_table(kept, path, compression="none", use_dictionary=False, write_statistics=False)


def _others(count: int, indices: Sequence[int]) -> Any:
    keep = [True] * count
    for index in indices:
        keep[index] = False
    return pa.array(keep)
