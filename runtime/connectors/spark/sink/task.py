"""The task of SparkSink. While Spark writes a batch, the records of the next one are collected."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConnectError
from runtime.api.task import OffsetAndMetadata, SinkTask
from runtime.connectors.spark.batch_metrics import BatchMetrics
from runtime.connectors.spark.session_client import SessionClient, SessionLostError, SparkRequestError, retry_delay
from runtime.connectors.spark.sink.definition import Evolution, SparkSinkSettings
from runtime.connectors.spark.sink.spark_batch import query_failures, refuse
from runtime.model.task_errors import TaskLostError

if TYPE_CHECKING:
    from runtime.connectors.files.sink.chunk import Chunk
    from runtime.connectors.spark.sink.changes import ChangeConversion
    from runtime.connectors.spark.sink.collected import CollectedRows
    from runtime.connectors.spark.sink.columns import TableColumns
    from runtime.connectors.spark.sink.maintenance import Maintenance
    from runtime.connectors.spark.sink.spark_batch import SparkBatch

_log = logging.getLogger(__name__)
NO_BATCH = "-"
"""Metadata of offsets without a batch: without any metadata they would look as if a user had altered them."""

_SAME_COLUMNS = "[COLUMN_ALREADY_EXISTS]"
"""In Spark's error for columns whose names differ only in case, unless spark.sql.caseSensitive is set."""

_BUSY_PUT = 0.1  # seconds between two looks at a batch that is being written or committed
_COMMIT_RETRY = 1.0  # seconds after which a commit without a response is requested again
_SESSION_WAIT = 120.0  # seconds for the start of the Spark session
_SESSION_LOST = 1.0  # seconds after which the task is started again if the driver has ended
_STOP_WAIT = 5.0  # seconds for which stop() waits until batches have been published or discarded
_DOUBT_WAIT = 60.0  # seconds for which the response to the commit of lost partitions may be missing
_CLOSE_WAIT = 30.0  # seconds for which close() waits for a write that cannot be undone


class SparkSinkTask(SinkTask):
    """Collects records as columns, and lets the worker's Spark session write them in batches."""

    takes_batches = True
    commits_late = True

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, connect: Callable[[str], SessionClient] = SessionClient,
        full_wait: float = 1.0, delay: Callable[[int], float] = retry_delay,
    ) -> None:  # fmt: skip
        """`clock` in seconds measures `spark.trigger`. `connect` opens the connection to the session. put() waits
        `full_wait` seconds for Spark if the next batch is full. `delay`: see SparkBatch."""
        super().__init__()
        self._clock, self._connect, self._full_wait, self._delay = clock, connect, full_wait, delay
        self._client: SessionClient | None = None
        self._batch: SparkBatch | None = None
        self._published: tuple[Collection[TopicPartition], Future[Any]] | None = None
        self._checks: list[Future[Any]] = []  # of requests whose results nobody needs
        self._discarded: Future[Any] | None = None  # the last batch that had been written and was discarded
        self._known: Future[Any] | None = None
        self._next: dict[TopicPartition, int] = {}  # offsets behind the last batch
        self._paused = False
        self._next_request = 0.0
        self._maintenance: Maintenance | None = None
        self.metrics_owner = BatchMetrics()

    def start(self, config: Mapping[str, str]) -> None:
        from runtime.connectors.spark.sink.columns import TableColumns
        from runtime.connectors.spark.sink.spark_batch import arrow_columns

        settings = self._settings = SparkSinkSettings.of(config)
        name = config.get("name", "sink")
        self._client = self._connect(f"spark-{name}-{settings.task}")
        self._staging = settings.staging
        self._common = {
            "connector": name, "task": settings.task, "target": settings.target(), "staging": self._staging.value,
            "retries": settings.retries,
        }  # fmt: skip
        fixed = arrow_columns(settings.schema) if settings.schema else None
        self._columns: TableColumns = TableColumns(
            Evolution(settings.evolution), fixed, fixed is not None, settings.named_folders
        )
        self._changes: ChangeConversion | None = None
        if settings.merge is not None:
            from runtime.connectors.spark.sink.changes import ChangeConversion

            self._changes = ChangeConversion(settings.merge, self._columns)
        self._open: CollectedRows = self._collected()
        if settings.compact_interval is not None and settings.task == 0:
            self._maintenance = self._start_maintenance(name, settings.compact_interval)
        if settings.sql:
            self._checks.append(self._request("check"))
        if settings.has_types and fixed is None and settings.evolution != Evolution.ANY and not settings.sql:
            self._known = self._request("schema")

    def _start_maintenance(self, name: str, interval: float) -> Maintenance:
        from runtime.connectors.spark.sink.maintenance import Maintenance

        request = {**self._common, "op": "maintain", "expire_after": self._settings.expire_after}
        return Maintenance(interval, self._connect(f"spark-{name}-maintenance"), request, self._clock)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        if (doubtful := self._batch) is not None and doubtful.in_doubt_since is not None:
            self._follow_doubtful(doubtful, doubtful.in_doubt_since)
        if self._paused:
            self.context.pause(*partitions)
        positions = []
        for tp in partitions:
            committed = self.context.committed[tp]
            self._next[tp] = int(committed)
            positions.append([tp.topic, tp.partition, int(committed), getattr(committed, "metadata", "")])
        if self._staging:
            live = [self._batch.id] if self._batch is not None else []
            self._checks.append(self._request("resolve", positions=positions, live=live))
        self._schedule()

    def put(self, records: Sequence[SinkRecord]) -> None:
        from runtime.connectors.files.sink.chunk import chunks, chunks_with_nulls

        self._check()
        if len(records):
            self._learn_columns()
            for chunk in chunks(records) if self._changes is None else chunks_with_nulls(records):
                self._collect(chunk)
        self._write_when_due()
        self._hold_back()
        self._schedule()

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        from runtime.connectors.spark.sink.spark_batch import BatchState

        self._take_results()
        self._write_when_due()
        self._schedule()
        allowed: dict[TopicPartition, int] = {}
        busy: Collection[TopicPartition] = self._published[0] if self._published is not None else ()
        batch = self._batch
        if batch is not None and batch.state is not BatchState.WRITING and batch.ends.keys() <= offsets.keys():
            batch.state = BatchState.COMMITTING
            self._next_request = self._clock() + _COMMIT_RETRY
            return {tp: OffsetAndMetadata(end, batch.id) for tp, end in batch.ends.items()}
        for tp, position in offsets.items():
            if tp in busy or (batch is not None and tp in batch.ends):
                continue
            allowed[tp] = OffsetAndMetadata(self._open.starts.get(tp, position), NO_BATCH)
        return allowed

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        batch = self._batch
        if batch is None:
            return
        batch.confirmed.update(
            tp for tp, committed in offsets.items() if getattr(committed, "metadata", "") == batch.id
        )
        if batch.confirmed >= batch.ends.keys():
            self._published = (batch.ends.keys(), self._request("publish", batch=batch.id))
            self._batch = None
            self._write_when_due()
            self._schedule()

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Drops collected records and batches that have not been committed; the next owner reads them again. Records of
        other partitions in the same batch are read again by this task."""
        from runtime.connectors.spark.sink.spark_batch import BatchState

        lost = set(partitions)
        for tp in lost:
            self._next.pop(tp, None)
        batch = self._batch
        if batch is not None and lost & batch.ends.keys():
            if batch.state is BatchState.COMMITTING:
                batch.in_doubt_since = self._clock()
            else:
                self._discard(batch)
        if lost & self._open.starts.keys():
            self._drop_open()
        self._schedule()

    def stop(self) -> None:
        if self._batch is not None:
            self._batch.remove_file()
        last = (self._published[1] if self._published is not None else None, self._discarded)
        wait([request for request in last if request is not None], _STOP_WAIT)
        for connected in (self._client, self._maintenance):
            if connected is not None:
                connected.close()

    # Collecting

    def _learn_columns(self) -> None:
        """Wait for the columns of what has been written before."""
        if self._known is None:
            return
        wait([self._known], _SESSION_WAIT)
        schema = _result(self._known)
        self._known = None
        if schema is not None:
            from runtime.connectors.spark.sink.spark_batch import from_text

            self._columns.know(from_text(schema))

    def _collect(self, chunk: Chunk) -> None:
        tp = chunk.tp
        reporter = self.context.errant_record_reporter

        def refused(index: int, error: Exception) -> None:
            refuse(chunk.record(index), error, reporter)

        first, end = chunk.offset(0), chunk.offset(len(chunk) - 1) + 1  # they decrease if the topic is created again
        if self._changes is not None:
            self._changes.collect(chunk, self._open, refused)
            end = max(end, self._open.ends.get(tp, end))  # chunks without values follow the others
        else:
            for places, rows in self._columns.convert(chunk.values, refused):
                if self._settings.sql and reporter is not None:
                    self._open.keep_source(chunk, places.start)
                self._open.add(rows)
        start = self._next[tp] = min(self._next.get(tp, first), first)
        self._open.cover(tp, start, end, self._clock())

    # Writing

    def _request(self, operation: str, **more: Any) -> Future[Any]:
        assert self._client is not None
        request = {**self._common, "op": operation, **more}
        return self._client.send(lambda: request)

    def _write_when_due(self) -> None:
        rows = self._open
        if self._batch is not None or not rows.starts or not self._is_due(rows):
            return
        from runtime.connectors.spark.sink.spark_batch import SparkBatch

        self._open = self._collected()
        self._next.update(rows.ends)
        if rows.count:
            assert self._client is not None
            self._batch = SparkBatch(
                self._settings.task, rows, self._columns.schema, self._client,
                {**self._common, "target": self._settings.target(self._keys())}, self._request_commit,
                query_failures(rows, self.context.errant_record_reporter), self._delay,
                bool(self.metrics_owner.metrics),
            )  # fmt: skip
        self._columns.forget()

    def _keys(self) -> Sequence[str]:
        return () if self._changes is None else self._changes.keys

    def _collected(self) -> CollectedRows:
        """Rows without any."""
        if self._changes is not None:
            return self._changes.collected()
        from runtime.connectors.spark.sink.collected import CollectedRows

        return CollectedRows()

    def _is_due(self, rows: CollectedRows) -> bool:
        return self._is_full(rows) or self._clock() - rows.opened >= self._settings.trigger

    def _is_full(self, rows: CollectedRows, times: int = 1) -> bool:
        return rows.count >= times * self._settings.max_records or rows.size >= times * self._settings.max_bytes

    def _check(self) -> None:
        """As _take_results(), and requests the commit of a batch that has been written."""
        from runtime.connectors.spark.sink.spark_batch import BatchState

        self._take_results()
        batch = self._batch
        if batch is not None and batch.state is not BatchState.WRITING and self._clock() >= self._next_request:
            self._next_request = self._clock() + _COMMIT_RETRY
            self._request_commit()

    def _take_results(self) -> None:
        """Takes notice of finished requests. Raises the errors that end the task."""
        from runtime.connectors.spark.sink.spark_batch import BatchState

        for check in [check for check in self._checks if check.done()]:
            self._checks.remove(check)
            try:
                left = _result(check)
            except SparkRequestError as error:
                raise ConnectError(f"Spark could not prepare the target: {error}") from error
            if left and (left["published"] or left["discarded"]):
                _log.info("Found batches of an earlier run: %d published, %d discarded",
                          len(left["published"]), len(left["discarded"]))  # fmt: skip
        if self._published is not None and self._published[1].done():
            try:
                _result(self._published[1])
            except SparkRequestError as error:
                raise ConnectError(
                    f"Spark could not publish a batch whose offsets have been committed: {error}. "
                    f"It is published when the task is restarted"
                ) from error
            self._published = None
        batch = self._batch
        if batch is None:
            return
        try:
            if batch.poll(self._settings.retries):
                self.metrics_owner.count(batch.count, batch.seconds)
        except SparkRequestError as error:
            if error.kind == "query" and _SAME_COLUMNS in str(error) and self._columns.fold_case():
                _log.warning("Records are read again, and those that do not fit are treated as errors: %s", error)
                self._discard(batch)
                return
            raise ConnectError(f"Spark could not write a batch of {batch.count} records: {error}") from error
        if batch.in_doubt_since is not None:
            self._follow_doubtful(batch, batch.in_doubt_since)
        elif batch.state is BatchState.WRITTEN and not self._staging:
            self._batch = None
            self._request_commit()

    def _follow_doubtful(self, batch: SparkBatch, since: float) -> None:
        """Partitions were lost while their commit was pending. The files stay: the group knows whether the batch was
        committed, and the next owner of a partition publishes or discards it."""
        if not batch.ends.keys() & self._next.keys():
            self._batch = None
            batch.remove_file()
        elif self._clock() - since > _DOUBT_WAIT:
            raise TaskLostError(f"the group has not confirmed the commit of batch {batch.id} before a rebalance")

    def _request_commit(self) -> None:
        """Makes the worker call pre_commit() soon; called in any thread."""
        try:
            self.context.request_commit()
        except ConnectError as error:  # the task is being stopped
            _log.debug("No commit requested: %s", error)

    def _hold_back(self) -> None:
        """Wait if Spark writes more slowly than records arrive; stop reading if it takes longer."""
        if self._batch is not None and self._is_full(self._open):
            self._batch.wait(self._full_wait)
            self._check()
            self._write_when_due()
        full = self._batch is not None and self._is_full(self._open, 2)
        if full is not self._paused:
            self._paused = full
            (self.context.pause if full else self.context.resume)(*self.context.assignment)

    def _discard(self, batch: SparkBatch) -> None:
        """Drop a batch, and read its records again in the partitions that the task still has."""
        from runtime.connectors.spark.sink.spark_batch import BatchState

        self._batch = None
        if self._staging:
            request = self._request("discard", batch=batch.id)
            self._checks.append(request)
            if batch.state is not BatchState.WRITING:  # otherwise the session discards it if the task ends
                self._discarded = request
        else:
            batch.wait(_CLOSE_WAIT)
        batch.remove_file()
        self._drop_open(batch.starts)

    def _drop_open(self, starts: Mapping[TopicPartition, int] | None = None) -> None:
        """Drop the collected records, and go back to these offsets and to the starts of the dropped records."""
        back = {tp: start for tp, start in {**self._open.starts, **(starts or {})}.items() if tp in self._next}
        self._open = self._collected()
        self._columns.forget()
        for tp, start in back.items():
            self._next[tp] = start
        if back:
            self.context.seek(back)

    def _schedule(self) -> None:
        """When put() is to be called without records."""
        if self._batch is not None or self._published is not None or self._checks:
            self.idle_put = _BUSY_PUT
        elif self._open.starts:
            self.idle_put = max(self._open.opened + self._settings.trigger - self._clock(), 0.01)
        else:
            self.idle_put = None
        if self._maintenance is not None:
            wanted = self._maintenance.run_when_due()
            self.idle_put = wanted if self.idle_put is None else min(self.idle_put, wanted)


def _result(work: Future[Any]) -> Any:
    """The result of a request that has ended. TaskLostError if the driver has: the task starts again, with it."""
    try:
        return work.result(0)
    except SessionLostError as error:
        raise TaskLostError(str(error), _SESSION_LOST) from error
