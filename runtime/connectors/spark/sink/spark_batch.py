"""A batch on its way to Spark's target.

    WRITING ─► WRITTEN ─► COMMITTING ─► published      staged files
       │          └─► discarded if a partition is lost
       └─► done                                        other targets

Staged files are published after the group has committed the offsets of all partitions of the batch, with the id of the
batch as metadata. If the task is killed before, the batch is discarded and its records are read again; if it is killed
after, the next task that gets one of the partitions publishes the batch.
"""

from __future__ import annotations

import base64
import logging
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import DataError
from runtime.api.task import ErrantRecordReporter
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.connectors.spark.failures import Failures
from runtime.connectors.spark.session_client import ROWS, SessionClient, SparkRequestError, retry_delay
from runtime.connectors.spark.sink.collected import CollectedRows, remove_rows

if TYPE_CHECKING:
    from runtime.connectors.spark.sink.collected import CollectedRows


def arrow_columns(ddl: str) -> Any:
    """The columns of a schema as Spark's DDL; ConfigError if it is not understood."""
    return arrow_schema(parse_ddl(ddl))


def from_text(text: str) -> Any:
    """The schema in the response of the session's operation `schema`."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def refuse(record: SinkRecord, error: Exception, reporter: ErrantRecordReporter | None) -> None:
    """Report a record that cannot become a row; DataError without a reporter."""
    described = DataError(f"Record of {_place(record)} does not fit the columns of the Spark table: {error}")
    described.__cause__ = error
    if reporter is None:
        raise described
    reporter.report(record, described)


def query_failures(rows: CollectedRows, reporter: ErrantRecordReporter | None) -> Callable[[int, str], None] | None:
    """A function that reports the record of a row for which the query fails, with Spark's message; None if the records
    of the rows are not known."""
    if reporter is None or not rows.sources:
        return None

    def report(row: int, message: str) -> None:
        record = rows.record(row)
        reporter.report(record, DataError(f"Spark's query fails for the record of {_place(record)}: {message}"))

    return report


def _place(record: SinkRecord) -> str:
    return f"{record.original_topic}-{record.original_kafka_partition} at offset {record.original_kafka_offset}"


_log = logging.getLogger(__name__)


class BatchState(Enum):
    """The steps of a batch."""

    WRITING = auto()
    WRITTEN = auto()
    COMMITTING = auto()


class SparkBatch:
    """One batch. Not thread-safe: it belongs to the task's thread."""

    def __init__(
        self,
        task: int,
        rows: CollectedRows,
        columns: Any,
        client: SessionClient,
        request: Mapping[str, Any],
        done: Callable[[], None],
        refuse: Callable[[int, str], None] | None,
        delay: Callable[[int], float] = retry_delay,
        proven: bool = False,
    ) -> None:
        """`request` has what all requests of the task have in common. `done` is called in another thread after each
        attempt. `refuse` reports the record of a row for which the query fails, with Spark's message; None: such errors
        are not tolerated. `delay`: seconds before the next attempt, by the number of attempts. `proven`: as in
        Failures."""
        self.id = f"{task}-{uuid4().hex}"
        self.starts, self.ends = rows.starts, rows.ends
        self.count = rows.count
        self.seconds = 0.0  # that Spark needed
        self.state = BatchState.WRITING
        self.confirmed: set[TopicPartition] = set()
        self.in_doubt_since: float | None = None  # when partitions were lost while their commit was pending
        self._rows: CollectedRows | None = rows
        self._columns, self._client, self._request, self._done = columns, client, request, done
        self._file = Path(os.environ.get(ROWS) or tempfile.gettempdir(), f"rows-{self.id}.parquet")
        self._refuse, self._probed, self._delay = refuse, False, delay
        self._failures = Failures(proven)
        self._retry_at: float | None = None
        self._writing = self._send()

    def _send(self) -> Future[Any]:
        return self._send_request(self._prepared)

    def _send_request(self, make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        sent = self._client.send(make)
        sent.add_done_callback(lambda _: self._done())
        return sent

    def _probe(self) -> dict[str, Any]:
        return {**self._request, "op": "probe", "files": [str(self._file)]}

    def _drop_rows(self, failing: Sequence[tuple[int, str]]) -> None:
        """Report the records for which the query fails, and write the others."""
        assert self._refuse is not None
        for index, message in failing:
            self._refuse(index, message)
        remove_rows(self._file, [index for index, _ in failing])
        self.count -= len(failing)
        self._writing = self._send()

    def _prepared(self) -> dict[str, Any]:
        if self._rows is not None:
            try:
                self._rows.write(self._file, self._columns)
            except OSError as error:  # such as a full disk, which another attempt may find emptier
                raise SparkRequestError(f"Cannot write {self._file}: {error}") from error
            self._rows = None
        ranges: dict[str, dict[str, list[int]]] = {}
        for tp, end in self.ends.items():
            ranges.setdefault(tp.topic, {})[str(tp.partition)] = [self.starts[tp], end]
        return {**self._request, "op": "write", "id": self.id, "files": [str(self._file)], "ranges": ranges}

    def poll(self, retries: int) -> bool:
        """Whether the batch has been written now. Retries; SparkRequestError after the last attempt."""
        if self._retry_at is not None and time.monotonic() >= self._retry_at:
            self._retry_at = None
            self._writing = self._send()
        if self.state is not BatchState.WRITING or self._retry_at is not None or not self._writing.done():
            return False
        try:
            response = self._writing.result()
        except SparkRequestError as error:
            if error.kind == "data" and self._refuse is not None and not self._probed:
                _log.warning("The query fails for records of a batch of %d, looking for them: %s", self.count, error)
                self._probed = True
                self._writing = self._send_request(self._probe)
                return False
            now = time.monotonic()
            if not self._failures.may_retry(error, retries, now):
                self.remove_file()
                raise
            delay = self._delay(self._failures.count)
            _log.warning(
                "Spark could not write a batch of %d records; next attempt in %g s: %s", self.count, delay, error
            )
            self._retry_at = now + delay
            return False
        if isinstance(response, list):
            self._drop_rows(response)
            return False
        self.remove_file()
        self.seconds = response["seconds"]
        _log.debug("Spark has written %d records in %g s", self.count, self.seconds)
        self.state = BatchState.WRITTEN
        return True

    def wait(self, seconds: float) -> None:
        """Wait for the current attempt."""
        if self._retry_at is not None:
            time.sleep(min(seconds, max(self._retry_at - time.monotonic(), 0)))
        elif self.state is BatchState.WRITING:
            wait([self._writing], seconds)

    def remove_file(self) -> None:
        """Remove the rows that Spark reads."""
        self._file.unlink(missing_ok=True)
