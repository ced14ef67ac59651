"""A batch of Spark's checkpoint that is read again after a restart: the same records, no more and no less."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence

from runtime.api.data.batch import SourceBatch
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.kafka.formats import canonical
from runtime.spark.options import SparkOptions
from runtime.spark.position import PartitionProgress, StreamPosition
from runtime.spark.source.chunk import PolledChunk

_ROOM = 4  # times the buffer, for records behind the batch that are read before its end


class ReplayedBatch:
    """The records between two positions. parts() and has_ends() are called on the threads of tasks."""

    def __init__(self, start: StreamPosition, end: StreamPosition, options: SparkOptions) -> None:
        self._start, self._end, self._options = start, end, options
        self._lock = threading.Lock()
        counts = {name: progress.records - start.records(name) for name, progress in end.partitions.items()}
        self._left = {name: count for name, count in counts.items() if count}
        self._read_all: float | None = None  # when the last record was read

    def parts(self, records: Sequence[SourceRecord]) -> list[tuple[Sequence[SourceRecord], bool]]:
        """The records of a poll that belong to the batch (True), and those behind it (False)."""
        with self._lock:
            if not self._left:
                return [(records, False)]
            if isinstance(records, SourceBatch):
                name = canonical(records.source_partition)
                count = min(self._left.get(name, 0), len(records))
                self._read(name, count)
                if count in (0, len(records)):
                    return [(records, bool(count))]
                return [(records[:count], True), (records[count:], False)]
            inside: list[SourceRecord] = []
            behind: list[SourceRecord] = []
            for record in records:
                name = canonical(record.source_partition)
                (inside if name in self._left else behind).append(record)
                self._read(name, 1)
            return [(inside, True), (behind, False)]

    def _read(self, name: str, count: int) -> None:
        left = self._left.get(name, 0) - count
        if left > 0:
            self._left[name] = left
        else:
            self._left.pop(name, None)

    def has_ends(self, added: Mapping[str, PartitionProgress]) -> bool:
        """Whether offsets without records are those at the end of the batch."""
        with self._lock:
            ends = self._end.partitions
            return all(name not in self._left and name in ends and ends[name].offset == progress.offset
                       for name, progress in added.items())  # fmt: skip

    def complete(self, chunks: Sequence[PolledChunk]) -> bool:
        """Whether these chunks are the whole batch. ConnectError if they end at other offsets."""
        with self._lock:
            if self._left:
                return False
        reached = self._start.after(chunk.progress for chunk in chunks).stored()
        if reached == self._end:
            return True
        now = time.monotonic()
        self._read_all = self._read_all or now
        if now - self._read_all < self._options.timeout:  # offsets without records may follow
            return False
        raise ConnectError(f"{_CANNOT}: {self._difference(reached)}. {_REMEDY}")

    def check(self, idle: float, size: int) -> None:
        """ConnectError if no records have arrived for `idle` seconds, or if too many bytes wait behind the batch."""
        with self._lock:
            left = dict(self._left)
        if not left:
            return
        name, count = next(iter(left.items()))
        missing = f"{count} records of source partition {name} are missing"
        if idle > self._options.timeout:
            raise ConnectError(
                f"{_CANNOT}: {missing} after {idle:.0f} s without records (headrace.timeout.ms). {_REMEDY}"
            )
        if size > _ROOM * self._options.buffer_bytes:
            raise ConnectError(
                f"{_CANNOT}: {missing}, and the records behind them do not fit into memory: raise headrace.buffer.mb"
            )

    def _difference(self, reached: StreamPosition) -> str:
        """The first source partition whose last record is another one."""
        for name, wanted in self._end.partitions.items():
            offset = reached.offset(wanted.partition)
            if offset != wanted.offset:
                return f"source partition {name} ends at {json.dumps(offset)} instead of {json.dumps(wanted.offset)}"
        return "the source partitions differ"


_CANNOT = "The last batch of the checkpoint cannot be repeated, since the connector does not deliver its records again"
_REMEDY = "Check that the source still has them, or start the query with a new checkpointLocation"
