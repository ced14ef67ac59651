"""The two kinds of streaming readers behind one interface."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.data_source.prefetch import in_order

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamReader,
        InputPartition,
        SimpleDataSourceStreamReader,
    )
    from pyspark.sql.types import StructType

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
        self._limited = len(inspect.signature(reader.latestOffset).parameters) >= 2  # since Spark 4.2

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
        return _PartitionedBatch(self._reader, self._reader.partitions(dict(start), dict(end)), self._threads)

    def commit(self, end: ReaderOffset) -> None:
        self._reader.commit(dict(end))

    def stop(self) -> None:
        self._reader.stop()


class _PartitionedBatch:
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


def has_partitions(source: DataSource) -> bool:
    """Whether a data source may have a reader with partitions, which a simple reader does not have."""
    from pyspark.sql.datasource import DataSource

    return type(source).streamReader is not DataSource.streamReader


def checked_offset(offset: Any) -> ReaderOffset:
    """The offset of a reader; ConnectError if it is not a dict."""
    if not isinstance(offset, dict):
        raise ConnectError(f"The reader returned an offset that is not a dict: {type(offset).__name__}")
    return offset
