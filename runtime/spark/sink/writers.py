"""`df.write` and `df.writeStream`: each Spark task runs a sink task for its rows of a batch."""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from runtime.api.errors import ConfigError
from runtime.model.states import ConnectorType
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.sink.sink_run import SinkTaskRun

_BATCH_ID, _QUERY_ID = "streaming.sql.batchId", "sql.streaming.queryId"
_ROW_BITS, _BATCH_BITS, _QUERY_BITS = 26, 24, 13
"""An offset has these bits for the number of the row in its batch and partition, the batch and the query: 63 in all."""


@dataclass
class Written(WriterCommitMessage):
    """The number of rows that a Spark task has put."""

    rows: int


@dataclass(frozen=True)
class SinkPlan:
    """What the tasks of Spark need: options, and the configurations of the connector's tasks."""

    options: SparkOptions
    tasks: Sequence[Mapping[str, str]]

    @classmethod
    def of(cls, options: SparkOptions) -> SinkPlan:
        """The plan of a valid configuration. ConfigError for others."""
        connector = SparkConnector(options, ConnectorType.SINK)
        return cls(options, [task.config for task in connector.planned()])

    def write(self, rows: Iterator[Any], first: int) -> Written:
        """Put the rows of this Spark task; `first` is the offset of the first one. Without rows nothing is started:
        Spark has many partitions without any after a shuffle."""
        filled = (batch for batch in rows if batch.num_rows)
        head = next(filled, None)
        if head is None:
            return Written(0)
        partition = _context().partitionId()
        number = partition % len(self.tasks)
        task = PlannedTask(number, self.tasks[number])
        connector = SparkConnector(self.options, ConnectorType.SINK)
        run = SinkTaskRun(connector, task, partition, first)
        return Written(run.write(itertools.chain([head], filled)))


class HeadraceWriter(DataSourceArrowWriter):
    """Writes a DataFrame once. Its offsets follow those of earlier writes."""

    def __init__(self, options: SparkOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError("Mode overwrite is not supported, since sinks only add records: use mode append")
        self._plan, self._first = SinkPlan.of(options), time.time_ns() // 1_000_000 << 20

    def write(self, iterator: Iterator[Any]) -> Written:
        return self._plan.write(iterator, self._first)


class HeadraceStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a query. A row has the same partition and offset when its batch is repeated."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        self._plan = SinkPlan.of(options)

    def write(self, iterator: Iterator[Any]) -> Written:
        context = _context()
        batch, query = context.getLocalProperty(_BATCH_ID), context.getLocalProperty(_QUERY_ID)
        return self._plan.write(iterator, first_offset(int(batch), str(query)))


def first_offset(batch: int, query: str) -> int:
    """The offset of the first row of a batch: those of a query rise, those of different queries differ."""
    number = zlib.crc32(query.encode()) % (1 << _QUERY_BITS)
    return (number << _BATCH_BITS | batch) << _ROW_BITS


def _context() -> Any:
    context = TaskContext.get()
    assert context is not None
    return context
