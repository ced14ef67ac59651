"""The task of SparkSource: takes one batch of the Spark session after another.

    OPENING ─► WAITING ─► READING ─► COMMITTING ─┐
                  ▲   the rows are polled        │ the offset of the whole batch has been committed
                  └──────────────────────────────┘ and the session is notified

The session keeps a batch until the task asks for the next one, so a batch is never lost; and it spools a batch before
the task sees it, so that a task that continues in the middle of a batch finds the same rows in the same order.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, SourceTask
from runtime.connectors.spark.batch_metrics import BatchMetrics
from runtime.connectors.spark.failures import Failures
from runtime.connectors.spark.session_client import SessionClient, SparkRequestError, retry_delay
from runtime.connectors.spark.source.definition import KEY, SparkSourceSettings
from runtime.connectors.spark.source.position import RowPosition, source_partition

if TYPE_CHECKING:
    from runtime.api.data.columns import Column

_log = logging.getLogger(__name__)
_CHECK_INTERVAL = 1.0  # seconds between two reads of the committed offset
_FORGET = 600.0  # seconds after which an error is not counted any more: a source may be idle for weeks


class SourceState(Enum):
    """What the task does."""

    OPENING = auto()  # the session opens the source
    WAITING = auto()  # for a batch
    READING = auto()  # the rows of a batch
    COMMITTING = auto()  # all rows have been returned by poll()


class BatchedSource(Protocol):
    """The settings of a source that the session reads."""

    @property
    def source_name(self) -> str:
        """What is read, as text that names the source partition."""

    @property
    def topic(self) -> str: ...

    @property
    def key(self) -> Sequence[str]: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def retries(self) -> int: ...

    def source(self) -> dict[str, Any]:
        """The part of requests that names the source."""


class SparkSourceTask(SourceTask):
    """Reads batches of the worker's Spark session."""

    timestamps_are_now = True
    reuses_records = False
    idle_poll = 1.0  # responses of the session and commits wake the task

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, connect: Callable[[str], SessionClient] = SessionClient
    ) -> None:
        """`clock` in seconds measures delays. `connect` opens the connection to the session."""
        super().__init__()
        self._clock, self._connect = clock, connect
        self._client: SessionClient | None = None
        self._response: Future[Any] | None = None
        self._retry_at = self._next_check = self._failed_at = 0.0
        self._failures = Failures()
        self._position: RowPosition | None = None  # behind the last batch that has been committed
        self._checkpoint = self._spool = ""
        self._batch = self._row = self._count = 0
        self._rows: Iterator[ValueBatch] | None = None  # of the batch; None unless it is being read
        self._key_schemas: tuple[Schema | None, Schema] | None = None
        self.metrics_owner = BatchMetrics()

    def start(self, config: Mapping[str, str]) -> None:
        settings = self._settings = self._settings_of(config)
        self._name = config.get("name", "source")
        self._partition = source_partition(settings.source_name)
        stored = self.context.offsets.offset(self._partition)
        self._position = None if stored is None else RowPosition.of(stored)
        self._failures = Failures(proven=stored is not None)
        self._client = self._connect(f"spark-{self._name}")
        self._open()

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._rows is None:
            self._advance()
        return None if self._rows is None else self._next_rows(self._rows)

    def commit(self) -> None:
        self._next_check = 0.0
        if self._state is SourceState.COMMITTING:
            self.context.wake()

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _advance(self) -> None:
        """Take the next step of those that need no rows."""
        if self._state is SourceState.COMMITTING:
            self._check_committed()
        elif self._response is not None and self._response.done():
            self._take_response(self._response)
        elif self._response is None and self._clock() >= self._retry_at:
            self._open()

    def _settings_of(self, config: Mapping[str, str]) -> BatchedSource:
        return SparkSourceSettings.of(config)

    # The session

    def _send(self, operation: str, **more: Any) -> None:
        assert self._client is not None
        request = {"op": operation, "connector": self._name, **more}
        self._response = self._client.send(lambda: request)
        self._response.add_done_callback(lambda _: self.context.wake())

    def _open(self) -> None:
        self._state = SourceState.OPENING
        position = self._position
        committed = None if position is None else asdict(position)
        self._send("open", source=self._settings.source(), committed=committed)

    def _ask_for_batch(self) -> None:
        self._state = SourceState.WAITING
        self._send("next", committed=-1 if self._position is None else self._position.done)

    def _take_response(self, response: Future[Any]) -> None:
        self._response = None
        try:
            document = response.result()
            if self._state is SourceState.OPENING:
                self._checkpoint = document["checkpoint"]
                self._ask_for_batch()
            else:
                self._begin(document["batch"], document["spool"], document["files"])
                self.metrics_owner.count(self._count, document["seconds"])
        except SparkRequestError as error:
            self._failed(error)

    def _failed(self, error: SparkRequestError) -> None:
        """Open the source again after a delay; ConnectError after the last attempt, or if another one cannot help."""
        now = self._clock()
        if now - self._failed_at > _FORGET:
            self._failures = Failures(self._failures.proven)
        self._failed_at = now
        if not self._failures.may_retry(error, self._settings.retries, now):
            raise ConnectError(f"Spark could not read {self._settings.source_name}: {error}") from error
        delay = retry_delay(self._failures.count)
        _log.warning("Spark could not read %s; next attempt in %g s: %s", self._settings.source_name, delay, error)
        self._state, self._retry_at = SourceState.OPENING, now + delay

    # A batch

    def _begin(self, batch: int, spool: str, files: Sequence[str]) -> None:
        from runtime.connectors.spark.source.spooled import row_count, spooled_values

        position = self._position
        self._failures = Failures(proven=True)
        self._batch, self._spool, self._count = batch, spool, row_count(files)
        self._row = position.rows if position is not None and position.batch == batch else 0
        if self._row >= self._count:
            self.context.add_offsets([(self._partition, self._offset(self._count))])
            self._finish()
            return
        _log.debug("Batch %d has %d rows; starting from row %d", batch, self._count, self._row)
        self._rows = spooled_values(files, self._settings.batch_size, self._row)
        self._state = SourceState.READING

    def _next_rows(self, rows: Iterator[ValueBatch]) -> SourceBatch:
        values, start = next(rows), self._row
        self._row += values.count
        if self._row == self._count:
            self._finish()
        batch = SourceBatch(
            self._partition,
            lambda n: self._offset(start + n + 1),
            self._settings.topic,
            values,
            int(time.time() * 1000),
        )
        if self._settings.key:
            batch.keys = self._keys(values)
        return batch

    def _offset(self, row: int) -> Offset:
        """The source offset behind `row` rows of the batch."""
        return RowPosition(self._checkpoint, self._batch, 0 if row >= self._count else row, self._spool).offset()

    def _finish(self) -> None:
        """The last rows have been read: their commit ends the batch, and the transaction if the task defines it."""
        self._state, self._rows = SourceState.COMMITTING, None
        self._next_check = self._clock() + _CHECK_INTERVAL
        if self.context.transactions is not None:
            self.context.transactions.commit()
        self.context.request_commit()

    def _check_committed(self) -> None:
        """Ask for the next batch if the whole batch has been committed."""
        if self._clock() < self._next_check:
            return
        self._next_check = self._clock() + _CHECK_INTERVAL
        try:
            stored = self.context.offsets.offset(self._partition)
        except ConnectError as error:  # checked again
            _log.debug("The committed offset is not known: %s", error)
            return
        if stored == self._offset(self._count):
            self._position = RowPosition(self._checkpoint, self._batch)
            self._ask_for_batch()

    def _keys(self, values: ValueBatch) -> ValueBatch:
        names = self._settings.key
        columns: dict[str, Column] = {name: values.columns[name] for name in names if name in values.columns}
        if missing := [name for name in names if name not in columns]:
            raise ConnectError(f"{KEY} names no column of the rows: {missing[0]}. Columns: {', '.join(values.columns)}")
        schema = self._key_schema(values.schema)
        if len(names) == 1:
            return ValueBatch(schema, columns[names[0]])
        return ValueBatch.struct(schema, columns, values.count)

    def _key_schema(self, schema: Schema | None) -> Schema:
        """The schema of the key, the same object for all rows of a schema."""
        if self._key_schemas is None or self._key_schemas[0] is not schema:
            assert schema is not None
            fields = {field.name: field.schema for field in schema.fields if field.name in self._settings.key}
            ordered = {name: fields[name] for name in self._settings.key}
            made = next(iter(ordered.values())) if len(ordered) == 1 else struct_schema(ordered)
            self._key_schemas = (schema, made)
        return self._key_schemas[1]
