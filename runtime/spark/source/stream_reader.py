"""`spark.readStream`: the planner of a query, which runs the tasks and defines the batches.

Spark needs the end of a batch before its readers start, and a Connect task only knows where a poll ends when it has
polled. Tasks therefore run in the process of the planner, as threads, and read ahead; Spark's readers take the rows of
a batch from files. The end of a batch is in Spark's checkpoint before any reader sees its rows, so that after a restart
the batch consists of the same records.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.model.states import ConnectorType
from runtime.spark.columns import columns_of_names
from runtime.spark.connector import SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.position import StreamPosition
from runtime.spark.source.chunk import PolledChunk
from runtime.spark.source.feed import Feed
from runtime.spark.source.replayed_batch import ReplayedBatch
from runtime.system.process_folder import make_folder, make_folder_in

_ROWS = 65_536  # of an Arrow batch, at most


@dataclass
class SpooledRows(InputPartition):
    """The rows of one task in one batch: an Arrow file."""

    path: str

    def read(self) -> Iterator[Any]:
        """The rows as Arrow batches. ConnectError if this machine does not have the file."""
        try:
            with pa.memory_map(self.path) as source, pa.ipc.open_file(source) as file:
                for number in range(file.num_record_batches):
                    yield file.get_batch(number)
        except FileNotFoundError:
            raise ConnectError(
                f"{self.path} does not exist on this machine: set headrace.spool.path to a folder that Spark's driver "
                "and all executors share"
            ) from None


class Spool:
    """A private folder with a file for each task of each batch; removed by close(), or by the next stream if this
    process is killed."""

    def __init__(self, parent: str, keep_every: float = 3600) -> None:
        """`parent`: empty for the folder of temporary files; `keep_every`: seconds between two signs of use.
        ConfigError if it is not a folder."""
        self._keep_every = keep_every
        if parent and not Path(parent).is_dir():
            raise ConfigError(f"Option headrace.spool.path={parent}: not a folder; create it, or leave the option out")
        self._folder = Path(make_folder_in(Path(parent)) if parent else make_folder("0"))
        self._number, self._touched = 0, time.monotonic()

    def keep(self) -> None:
        """Show other machines that the folder is in use: they remove old ones. Called by a stream without records."""
        now = time.monotonic()
        if now - self._touched > self._keep_every:
            self._touched = now
            with contextlib.suppress(OSError):
                os.utime(self._folder)

    def write(self, chunks: Sequence[PolledChunk], schema: Any) -> list[SpooledRows]:
        """Write the rows of a batch, which leave memory."""
        by_task: dict[int, list[Any]] = {}
        for chunk in chunks:
            if chunk.rows:
                by_task.setdefault(chunk.task, []).extend(chunk.rows)
            chunk.rows = []
        spooled = []
        for rows in by_task.values():
            self._number += 1
            path = self._folder / f"{self._number}.arrow"
            table = pa.Table.from_batches(rows, schema).combine_chunks()
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
                file.write_table(table, max_chunksize=_ROWS)
            spooled.append(SpooledRows(str(path)))
        return spooled

    def remove(self, rows: Sequence[SpooledRows]) -> None:
        """Remove the files of a committed batch."""
        for file in rows:
            with contextlib.suppress(FileNotFoundError):
                Path(file.path).unlink()

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)


_WAIT = 0.2  # seconds for which latestOffset() waits for records


@dataclass(frozen=True, slots=True)
class Batch:
    """The chunks between two positions, and their rows on disk."""

    start: StreamPosition
    end: StreamPosition
    chunks: Sequence[PolledChunk]
    rows: Sequence[SpooledRows]


class HeadraceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a query. Its methods are called by Spark, one after another; read() in other processes."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema
        self._running: RunningStream | None = None
        self._until_idle = False

    def initialOffset(self) -> dict[str, Any]:
        return StreamPosition().json()

    def getDefaultReadLimit(self) -> ReadLimit:
        rows = self._options.batch_rows
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:
        self._until_idle = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end: dict[str, Any] = self._stream.advance(StreamPosition.of(start), rows, self._until_idle).json()
        return end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        return self._stream.rows(StreamPosition.of(start), StreamPosition.of(end))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SpooledRows)
        return partition.read()

    def commit(self, end: dict[str, Any]) -> None:
        if self._running is not None:
            self._running.commit(StreamPosition.of(end))

    def stop(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None

    @property
    def _stream(self) -> RunningStream:
        if self._running is None:
            self._running = RunningStream(self._options, self._schema)
            _end_on_sigterm()
        return self._running


class RunningStream:
    """The tasks of a query and its batches that have not been committed."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        self._options = options
        self._connector = SparkConnector(options, ConnectorType.SOURCE)
        converted = self._connector.has_converter("value")
        self._columns = options.columns or columns_of_names(schema.names, converted)
        self._target = arrow_schema(schema)
        self._spool = Spool(options.spool_path)
        self._feed: Feed | None = None
        self._position = StreamPosition()  # the end of the last batch
        self._batches: list[Batch] = []

    def advance(self, start: StreamPosition, most_rows: int | None, until_idle: bool) -> StreamPosition:
        """The end of the next batch; `start` if there are no records. `until_idle`: wait for records until the source
        has had none for `headrace.idle.ms`."""
        self._spool.keep()
        feed = self._fed_from(start)
        if until_idle:
            while not feed.wait(_WAIT) and feed.idle < self._options.idle:
                pass
        else:
            feed.wait(_WAIT)
        chunks = feed.take(most_rows)
        if chunks:
            self._add(start, chunks)
        return self._position

    def rows(self, start: StreamPosition, end: StreamPosition) -> list[SpooledRows]:
        """The rows between two positions. A batch from before a restart is read again."""
        batches = self._between(start, end)
        if batches is None:
            replayed = ReplayedBatch(start, end, self._options)
            feed = self._restart(start, replayed)
            self._add(start, feed.repeat(replayed))
            batches = self._between(start, end)
            assert batches is not None
        return [rows for batch in batches for rows in batch.rows]

    def commit(self, end: StreamPosition) -> None:
        """Spark has committed the batches up to here."""
        ends = [batch.end for batch in self._batches]
        if end not in ends:
            return
        count = ends.index(end) + 1
        done, self._batches = self._batches[:count], self._batches[count:]
        for batch in done:
            self._spool.remove(batch.rows)
        if self._feed is not None:
            self._feed.committed([chunk for batch in done for chunk in batch.chunks])

    def close(self) -> None:
        """Stop the tasks and remove the files."""
        if self._feed is not None:
            self._feed.stop()
        self._spool.close()

    def _add(self, start: StreamPosition, chunks: Sequence[PolledChunk]) -> None:
        self._position = start.after(chunk.progress for chunk in chunks).stored()
        self._batches.append(Batch(start, self._position, chunks, self._spool.write(chunks, self._target)))

    def _between(self, start: StreamPosition, end: StreamPosition) -> list[Batch] | None:
        """The batches between two positions; None if they are not the ends of batches in memory."""
        starts = [batch.start for batch in self._batches]
        if start not in starts:
            return None
        first = starts.index(start)
        ends = [batch.end for batch in self._batches[first:]]
        return self._batches[first : first + ends.index(end) + 1] if end in ends else None

    def _fed_from(self, start: StreamPosition) -> Feed:
        """The running tasks, whose next records are those behind `start`. They start again if the connector has
        requested other tasks, after the records that have been read."""
        if self._feed is None or start != self._position:
            return self._restart(start)
        if self._feed.outdated and not self._feed.wait(0):
            return self._restart(start)
        return self._feed

    def _restart(self, start: StreamPosition, replayed: ReplayedBatch | None = None) -> Feed:
        if self._feed is not None:
            self._feed.stop()
        self._position = start
        self._feed = Feed(self._connector, self._columns, self._target, replayed)
        self._feed.start(start)
        return self._feed


def _end_on_sigterm() -> None:
    """Spark ends the planner with SIGTERM: leave the main loop as if it had ended, so that tasks are stopped."""
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
