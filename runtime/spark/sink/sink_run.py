"""A sink task in this process: the rows of one Spark task, from start to the last flush."""

from __future__ import annotations

import itertools
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from runtime.api.data.batch import SinkBatch
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.java.plugins.shared_host import release_objects
from runtime.model.states import ConnectorType
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import Converters, load_converter, load_steps, load_task
from runtime.pipeline.produce.producers import SlotProducer
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.sink.dead_letters import DeadLetters, dead_letter_topic
from runtime.pipeline.sink.errant import ErrantRecords
from runtime.pipeline.sink.sink_context import SinkContext
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import Failure
from runtime.pipeline.task_forms import as_sink
from runtime.pipeline.tolerance import Policy, Tolerance
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.sink.row_records import CellConverter, RowMessages, TextHeaderConverter, as_letter

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

    def write(self, rows: Iterator[Any], partition: int, first: int) -> Written:
        """Put the rows of a partition of Spark's; `first` is the offset of the first one. Without rows nothing is
        started: Spark has many partitions without any after a shuffle."""
        filled = (batch for batch in rows if batch.num_rows)
        head = next(filled, None)
        if head is None:
            return Written(0)
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
        return self._plan.write(iterator, _context().partitionId(), self._first)


class HeadraceStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a query. A row has the same partition and offset when its batch is repeated."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        self._plan = SinkPlan.of(options)

    def write(self, iterator: Iterator[Any]) -> Written:
        context = _context()
        batch, query = context.getLocalProperty(_BATCH_ID), context.getLocalProperty(_QUERY_ID)
        return self._plan.write(iterator, context.partitionId(), first_offset(int(batch), str(query)))


def first_offset(batch: int, query: str) -> int:
    """The offset of the first row of a batch: those of a query rise, those of different queries differ."""
    number = zlib.crc32(query.encode()) % (1 << _QUERY_BITS)
    return (number << _BATCH_BITS | batch) << _ROW_BITS


def _context() -> Any:
    context = TaskContext.get()
    assert context is not None
    return context


_FIRST_RETRY, _MAX_RETRY = 0.1, 5.0  # seconds between two attempts of a put
_WAIT = 0.05  # seconds between two commits that leave records open


class SinkTaskRun:
    """One sink task, with one partition for each topic of its rows."""

    def __init__(self, connector: SparkConnector, task: PlannedTask, partition: int, first: int) -> None:
        """`partition` and `first` are the Kafka partition and offset that the first row has for the task."""
        self._connector, self._partition, self._next = connector, partition, first
        self._timeout = connector.options.timeout
        spec = self._spec = connector.spec(task)
        control = TaskControl(False, lambda: None)
        self._letters = DeadLetters(spec, SlotProducer(self._producer()), control) if self._has_letters else None
        self._tolerance = Tolerance(Policy.of(spec.settings), str(spec.id), control, self)
        if self._letters is not None:
            self._letters.counts = self._tolerance.counts
        self._chain = Chain(load_steps(spec), self._tolerance, sink_place)
        self._converted = connector.has_converter("key"), connector.has_converter("value")
        self._converters = Converters(
            load_converter(spec.key_converter, True, spec) if self._converted[0] else CellConverter(),
            load_converter(spec.value_converter, False, spec) if self._converted[1] else CellConverter(),
            TextHeaderConverter(),
        )
        self._conversion = SinkConversion(self._converters, self._chain, self._tolerance)
        self._task = as_sink(load_task(spec), control, str(spec.id))
        self._context = self._task.context = SinkContext(spec.config)
        self._errant = ErrantRecords(self._tolerance)
        if self._letters is not None or self._tolerance.policy.log:
            self._context.errant_record_reporter = self._errant

    @property
    def _has_letters(self) -> bool:
        return bool(dead_letter_topic(self._spec.settings))

    def _producer(self) -> dict[str, Any]:
        if not self._spec.producer:
            raise ConfigError(
                "Option errors.deadletterqueue.topic.name needs the brokers of the topic: set "
                "headrace.kafka.bootstrap.servers"
            )
        return self._spec.producer

    def write(self, batches: Iterable[Any]) -> int:
        """Put the rows of all Arrow batches and flush; returns their number. Raises the error that fails the task."""
        count = 0
        try:
            if self._letters is not None:
                self._letters.ensure_topic()
            self._task.start(self._spec.config)
            messages: RowMessages | None = None
            for rows in batches:
                if messages is None:
                    messages = self._messages(rows.schema)
                self._deliver(messages.of(rows, self._partition, self._next))
                self._next += rows.num_rows
                count += rows.num_rows
            self._flush()
        finally:
            self._stop()
        return count

    def report(self, failure: Failure) -> object:
        """Send a failed row to the dead letter topic, if there is one."""
        return None if self._letters is None else self._letters.report(as_letter(failure))

    def _messages(self, schema: Any) -> RowMessages:
        topics = self._connector.config.get("topics", "").split(",")
        return RowMessages(self._connector.options.columns, schema, topics[0].strip(), self._converted)

    def _deliver(self, messages: Sequence[Any]) -> None:
        if not messages:
            return
        self._open({TopicPartition(message.topic(), self._partition) for message in messages})
        records, positions = self._conversion.convert(messages, self._context.positions)
        if len(records):
            self._put(records)
        self._context.positions.update(positions)

    def _open(self, partitions: set[TopicPartition]) -> None:
        new = sorted(partitions - self._context.positions.keys())
        if new:
            self._context.positions.update(dict.fromkeys(new, self._next))
            self._task.open(new)

    def _put(self, records: SinkBatch | Sequence[SinkRecord]) -> None:
        """Put a batch, again after a RetriableError until `headrace.timeout.ms`."""
        if isinstance(records, SinkBatch) and not self._task.takes_batches:
            records = records.records
        deadline, wait = time.monotonic() + self._timeout, _FIRST_RETRY
        while True:
            try:
                self._task.put(records)
                break
            except RetriableError:
                if time.monotonic() > deadline:
                    raise
                timeout = self._context.take_timeout()
                time.sleep(wait if timeout is None else timeout)
                wait = min(wait * 2, _MAX_RETRY)
        self._check()

    def _check(self) -> None:
        self._errant.check()
        if self._letters is not None:
            self._letters.check()
        if self._context.take_seeks():
            raise ConnectError(
                f"{self._connector.raw['connector.class']} requests to seek in its topics, which Spark does not support"
            )

    def _flush(self) -> None:
        """Flush until the task allows the offsets of all rows to be committed."""
        wanted = dict(self._context.positions)
        deadline = time.monotonic() + self._timeout
        while wanted:
            allowed = self._task.pre_commit(dict(wanted)) or {}
            self._check()
            if all(allowed.get(tp, -1) >= offset for tp, offset in wanted.items()):
                break
            if time.monotonic() > deadline:
                raise ConnectError(
                    f"{self._connector.raw['connector.class']} still holds records after {self._timeout:g} s "
                    "(headrace.timeout.ms): set the option of the connector that limits how long it collects "
                    "records, such as rotate.schedule.interval.ms of FilesSink"
                )
            time.sleep(_WAIT if self._task.idle_put is None else min(self._task.idle_put, 1.0))
            self._put([])
        if self._letters is not None and not self._letters.settle(self._timeout):
            raise ConnectError(f"Kafka has not acknowledged the dead letters within {self._timeout:g} s")

    def _stop(self) -> None:
        try:
            if self._context.positions:
                self._task.close(list(self._context.positions))
        finally:
            try:
                self._task.stop()
            finally:
                self._chain.close()
                self._converters.close()
                release_objects(threading.get_ident(), ended=True)
