"""What a poll has read: its rows, and the progress that it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.api.data.record import SourceRecord
from runtime.spark.position import PartitionProgress


@dataclass(slots=True, eq=False)
class PolledChunk:
    """The rows of a poll of one task. A chunk without rows has records that were dropped, or offsets alone."""

    task: int
    progress: Mapping[str, PartitionProgress]
    """By the canonical text of the source partition, with the number of records of this chunk."""
    rows: list[Any]
    """Arrow batches; removed when they are on disk."""
    records: Sequence[SourceRecord] = ()
    """The polled records, for tasks that are notified of each committed record."""
    repeated: bool = False
    """Whether the chunk belongs to a batch that is read again."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.rows)

    @property
    def size(self) -> int:
        """The bytes of the rows."""
        return sum(batch.nbytes for batch in self.rows)
