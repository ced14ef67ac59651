"""The task of DataSource: chunks of rows as batches of records.

A batch reader is read once or again and again: each read is a micro-batch. Its offset counts the reads: {"reads": 3,
"read_at": 1769472000000}, with the time in milliseconds at which the last one began.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.api.task import SourceTask
from runtime.connectors.config_keys import INTERVAL as AT_INTERVALS
from runtime.connectors.config_keys import STREAM, interval
from runtime.connectors.data_source.chunk_thread import ChunkThread, OffsetMark, RowChunk
from runtime.connectors.data_source.config import (
    BATCH,
    INTERVAL,
    KEY,
    MODE,
    SOURCE_KEYS,
    TASK_COUNT,
    TASK_NUMBER,
    THREADS,
    TOPIC,
    TRIGGER,
)
from runtime.connectors.data_source.connect_schema import Convert, connect_struct
from runtime.connectors.data_source.loading import SCHEMA, load_data_source, read_schema
from runtime.connectors.data_source.micro_batches import OFFSET, BatchPosition
from runtime.connectors.data_source.readers import MicroBatch, PartitionedBatch, ReaderOffset, open_reader
from runtime.connectors.data_source.reading import BatchPlanner, ShareReader, Shares
from runtime.connectors.data_source.shared_batches import position_of, source_partition

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


_STOP_WAIT = 0.5  # seconds
_COMMIT_INTERVAL = 1.0  # seconds between two reads of the committed offset

_log = logging.getLogger(__name__)


class DataSourceTask(SourceTask):
    """Reads one data source, or its share of it; the reader is called by a thread of its own."""

    timestamps_are_now = True
    idle_poll = 1.0  # the thread wakes the worker
    _thread: ChunkThread | None = None

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds determines when the reader gets the committed offset again."""
        super().__init__()
        self._clock = clock
        self._next_commit = 0.0

    def start(self, config: Mapping[str, str]) -> None:
        settings = SOURCE_KEYS.parse(config)
        source = load_data_source(config)
        schema = read_schema(source, settings[SCHEMA])
        self._schema, self._converts = connect_struct(schema)
        self._topic: str = settings[TOPIC]
        self._key: str | None = settings[KEY] or None
        streams = settings[MODE] == STREAM
        self._source = source_partition(config, streams)
        stored = self.context.offsets.offset(self._source)
        position = None if stored is None else position_of(stored)
        if not streams and position is not None and position.end is not None:
            position = BatchPosition(position.start)  # rows may have changed since, so that none can be skipped
        self._passed_on: object = stored and stored.get(OFFSET)
        task, tasks = int(config.get(TASK_NUMBER, "0")), int(config.get(TASK_COUNT, "1"))
        self._plans = task == 0
        if streams:
            reader = open_reader(source, schema, settings[THREADS])
        else:
            trigger = interval(settings[TRIGGER]) if settings[MODE] == AT_INTERVALS else None
            reader = BatchReads(source, schema, settings[THREADS], trigger)
        wait = settings[INTERVAL] / 1000
        shares = Shares(reader, self._source, self.context.offsets, task, tasks, wait)
        read = (
            BatchPlanner(reader, self._source, position, shares, tasks, wait).read
            if self._plans
            else ShareReader(shares).read
        )
        self._thread = ChunkThread(reader, read, tuple(self._converts), settings[BATCH], self.context.wake)

    def poll(self) -> Sequence[SourceRecord] | None:
        assert self._thread is not None, "start() has not been called"
        item = self._thread.next()
        if not isinstance(item, OffsetMark):
            return None if item is None else self._batch(item)
        if item.offsets:
            self.context.add_offsets(item.offsets)
        if item.soon:
            self.context.request_commit()
        return None

    def commit(self) -> None:
        """Passes the committed offset to the reader. Reading it takes a request, so not after each commit."""
        if not self._plans or self._clock() < self._next_commit:
            return
        self._next_commit = self._clock() + _COMMIT_INTERVAL
        try:
            committed = self.context.offsets.offset(self._source)
        except ConnectError as error:  # the next commit() repeats it
            _log.debug("The committed offset could not be read for the reader: %s", error)
            return
        if committed is not None and self._thread is not None and committed.get(OFFSET) != self._passed_on:
            self._passed_on = committed.get(OFFSET)
            self._thread.commit(position_of(committed).start)

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.stop(_STOP_WAIT)

    def _batch(self, chunk: RowChunk) -> SourceBatch:
        columns = {
            name: _converted(convert, column)
            for (name, convert), column in zip(self._converts.items(), chunk.columns, strict=True)
        }
        values = ValueBatch.struct(self._schema, columns, chunk.size)
        batch = SourceBatch(chunk.partition, chunk.offset_of, self._topic, values, int(time.time() * 1000))
        if self._key is not None:
            batch.keys = ValueBatch(self._schema.field(self._key), columns[self._key])
        return batch


def _converted(convert: Convert, column: Sequence[object]) -> Sequence[object]:
    if convert is None:
        return column
    return [None if value is None else convert(value) for value in column]
