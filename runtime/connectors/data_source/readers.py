"""The two kinds of streaming readers behind one interface."""

from __future__ import annotations

import inspect
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from runtime.api.errors import ConfigError, ConnectError

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamReader,
        InputPartition,
        SimpleDataSourceStreamReader,
    )
    from pyspark.sql.types import StructType

_PIECE = 256  # rows that a thread hands over at once
_PIECES = 16  # that wait for each partition


class _PartitionThread:
    """Reads one partition with a copy of the reader, as Spark's executors do."""

    def __init__(self, pickled: bytes, partition: InputPartition) -> None:
        self._pickled, self._partition = pickled, partition
        self._pieces: queue.Queue[list[Any] | BaseException | None] = queue.Queue(_PIECES)
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="data-source-partition", daemon=True).start()

    def rows(self) -> Iterator[Any]:
        """The rows of the partition; raises the reader's error."""
        while (piece := self._pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield from piece

    def end(self) -> None:
        """Makes the thread end soon."""
        self._ended.set()

    def _run(self) -> None:
        from pyspark import cloudpickle

        last: BaseException | None = None
        try:
            rows = iter(cloudpickle.loads(self._pickled).read(self._partition))
            while piece := list(islice(rows, _PIECE)):
                self._put(piece)
        except _EndedError:
            return
        except BaseException as error:  # raised again by rows()
            last = error
        self._put_last(last)

    def _put_last(self, last: BaseException | None) -> None:
        try:
            self._put(last)
        except _EndedError:
            return

    def _put(self, piece: list[Any] | BaseException | None) -> None:
        while not self._ended.is_set():
            try:
                self._pieces.put(piece, timeout=0.1)
                return
            except queue.Full:
                continue
        raise _EndedError


class _EndedError(Exception):
    """Nobody reads the rows any more."""


def in_order(reader: DataSourceStreamReader, partitions: Sequence[InputPartition], threads: int) -> Iterator[Any]:
    """The rows of all partitions; up to `threads` partitions are read at the same time."""
    from pyspark import cloudpickle

    pickled = cloudpickle.dumps(reader)
    running: list[_PartitionThread] = []
    waiting = iter(partitions)
    try:
        running = [_PartitionThread(pickled, partition) for partition in islice(waiting, threads)]
        while running:
            yield from running[0].rows()
            running.pop(0)
            running += [_PartitionThread(pickled, partition) for partition in islice(waiting, 1)]
    finally:
        for thread in running:
            thread.end()


ReaderOffset = Mapping[str, Any]
"""An offset of a reader: a JSON object."""

Rows = Iterator[Any]
"""Tuples, rows or Arrow record batches."""


class MicroBatch(Protocol):
    """The data between two offsets of a reader."""

    @property
    def partitions(self) -> int:
        """The number of its partitions."""

    def rows(self, share: int, shares: int) -> Rows:
        """The rows of each partition whose index divided by `shares` leaves `share`: always the same and in the same
        order, whichever instance of the reader reads them."""


class MicroBatchReader(Protocol):
    """Reads micro-batches. The methods are called on one thread."""

    def initial(self) -> ReaderOffset:
        """Where a new connector begins."""

    def following(self, start: ReaderOffset) -> tuple[ReaderOffset, MicroBatch | None]:
        """The end of the micro-batch that begins at `start`, equal to `start` if there is no data, and the batch if it
        has been read already."""

    def batch(self, start: ReaderOffset, end: ReaderOffset) -> MicroBatch:
        """A micro-batch."""

    def commit(self, end: ReaderOffset) -> None:
        """Everything before `end` has been stored."""

    def stop(self) -> None:
        """Release resources."""


class StreamReader:
    """A DataSourceStreamReader, whose partitions are read by several threads."""

    def __init__(self, reader: DataSourceStreamReader, threads: int) -> None:
        self._reader, self._threads = reader, threads
        self._limited = bool(inspect.signature(reader.latestOffset).parameters)  # since Spark 4.2, which asks the same

    def initial(self) -> ReaderOffset:
        return checked_offset(self._reader.initialOffset())

    def following(self, start: ReaderOffset) -> tuple[ReaderOffset, MicroBatch | None]:
        reader = self._reader  # without arguments: the signature before Spark 4.2
        end = reader.latestOffset(dict(start), self._limit()) if self._limited else reader.latestOffset()
        return checked_offset(end), None

    def _limit(self) -> Any:
        """The reader's limit for a micro-batch. None if PySpark is older than 4.2, and the reader has no limit."""
        limit = getattr(self._reader, "getDefaultReadLimit", None)
        return None if limit is None else limit()

    def batch(self, start: ReaderOffset, end: ReaderOffset) -> MicroBatch:
        return PartitionedBatch(self._reader, self._reader.partitions(dict(start), dict(end)), self._threads)

    def commit(self, end: ReaderOffset) -> None:
        self._reader.commit(dict(end))

    def stop(self) -> None:
        self._reader.stop()


class PartitionedBatch:
    """The partitions of a reader."""

    def __init__(self, reader: DataSourceStreamReader, partitions: Sequence[InputPartition], threads: int) -> None:
        self._reader, self._partitions, self._threads = reader, partitions, threads

    @property
    def partitions(self) -> int:
        return len(self._partitions)

    def rows(self, share: int, shares: int) -> Rows:
        partitions = self._partitions[share::shares]
        if self._threads == 1 or len(partitions) < 2:
            return (row for partition in partitions for row in self._reader.read(partition))
        return in_order(self._reader, partitions, self._threads)


class SimpleReader:
    """A SimpleDataSourceStreamReader, which reads data and learns its end in one call."""

    def __init__(self, reader: SimpleDataSourceStreamReader) -> None:
        self._reader = reader

    def initial(self) -> ReaderOffset:
        return checked_offset(self._reader.initialOffset())

    def following(self, start: ReaderOffset) -> tuple[ReaderOffset, MicroBatch | None]:
        rows, end = self._reader.read(dict(start))
        return checked_offset(end), _SimpleBatch(rows)

    def batch(self, start: ReaderOffset, end: ReaderOffset) -> MicroBatch:
        return _SimpleBatch(self._reader.readBetweenOffsets(dict(start), dict(end)))

    def commit(self, end: ReaderOffset) -> None:
        self._reader.commit(dict(end))

    def stop(self) -> None:
        """A simple reader has no stop()."""


class _SimpleBatch:
    partitions = 1

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def rows(self, share: int, shares: int) -> Rows:
        return iter(self._rows)


def open_reader(source: DataSource, schema: StructType, threads: int) -> MicroBatchReader:
    """The streaming reader of a data source; ConfigError if it has none."""
    from pyspark.errors import PySparkNotImplementedError

    missing = (PySparkNotImplementedError, NotImplementedError)
    try:
        return StreamReader(source.streamReader(schema), threads)
    except missing:
        pass
    try:
        return SimpleReader(source.simpleStreamReader(schema))
    except missing as error:
        raise ConfigError(f"{type(source).__name__} has no streaming reader") from error


def reader_problem(source: DataSource, streams: bool) -> str:
    """The reason why a data source cannot be read as a stream, or else in batches; empty if it can. Does not open a
    reader."""
    from pyspark.sql.datasource import DataSource

    name, cls = type(source).__name__, type(source)
    can_stream = has_partitions(source) or cls.simpleStreamReader is not DataSource.simpleStreamReader
    can_batch = cls.reader is not DataSource.reader
    if not can_stream and not can_batch:
        return f"{name} has no reader"
    if streams and not can_stream:
        return f"{name} has no streaming reader, only a batch reader: set data.source.mode to once or interval"
    if not streams and not can_batch:
        return f"{name} has no batch reader, only a streaming reader: set data.source.mode to stream"
    return ""


def has_partitions(source: DataSource) -> bool:
    """Whether a data source may have a reader with partitions, which a simple reader does not have."""
    from pyspark.sql.datasource import DataSource

    return type(source).streamReader is not DataSource.streamReader


def checked_offset(offset: Any) -> ReaderOffset:
    """The offset of a reader; ConnectError if it is not a dict."""
    if not isinstance(offset, dict):
        raise ConnectError(f"The reader returned an offset that is not a dict: {type(offset).__name__}")
    return offset
