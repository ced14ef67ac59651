"""The running tasks of a stream: they read ahead of Spark's batches, up to a limit.

A task is a thread. What it reads are chunks in a common queue, from which the reader of the stream takes a batch, so
that the end of each batch is known before Spark records it in its checkpoint.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from runtime.api.data.record import SourceRecord
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import Columns
from runtime.spark.position import StreamPosition
from runtime.spark.source.chunk import PolledChunk
from runtime.spark.source.replayed_batch import ReplayedBatch
from runtime.spark.source.source_run import SourceTaskRun, progress_of

_log = logging.getLogger(__name__)

_SLICE = 0.2  # seconds of one wait for a batch that is read again
_STOP_TIMEOUT = 10.0  # seconds for all tasks to stop


class Feed:
    """The tasks of a source connector, from a position on. Its methods belong to the thread of the reader."""

    def __init__(
        self, connector: SparkConnector, columns: Columns, target: Any, replayed: ReplayedBatch | None = None
    ) -> None:
        """`target` is the Arrow schema of the rows; `replayed` a batch that is read again first."""
        self._connector, self._columns, self._target = connector, columns, target
        self._replayed = replayed
        self._limit = connector.options.buffer_bytes
        self._changed = threading.Condition()  # guards all below
        self._queue: deque[PolledChunk] = deque()
        self._size = 0  # bytes in the queue
        self._error: BaseException | None = None
        self._stopping = False
        self._tasks: list[TaskReader] = []

    def start(self, position: StreamPosition) -> None:
        """Start the connector and its tasks; the tasks start on threads of their own."""
        self._connector.start(position)
        for task in self._connector.tasks():
            reader = TaskReader(self, self._connector, task, position, self._columns, self._target)
            self._tasks.append(reader)
            reader.thread.start()

    def stop(self) -> None:
        """Stop tasks and connector. A task that does not return is abandoned."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for reader in self._tasks:
            reader.stop_soon()
        deadline = time.monotonic() + _STOP_TIMEOUT
        for reader in self._tasks:
            reader.thread.join(max(deadline - time.monotonic(), 0))
        self._connector.stop()

    @property
    def outdated(self) -> bool:
        """Whether the connector has requested other tasks. Raises the error that the connector has reported."""
        return self._connector.check()

    def take(self, most_rows: int | None) -> list[PolledChunk]:
        """The chunks that have been read, in order, up to about this number of rows: at least one chunk, if any."""
        chunks: list[PolledChunk] = []
        rows = 0
        with self._changed:
            while self._queue and (most_rows is None or not rows or rows + self._queue[0].count <= most_rows):
                chunk = self._queue.popleft()
                self._size -= chunk.size
                rows += chunk.count
                chunks.append(chunk)
            self._changed.notify_all()
        return chunks

    def wait(self, seconds: float) -> bool:
        """Wait until there are chunks; False after `seconds`. Raises the error of a task that has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._error is not None, seconds)
            if self._error is not None and not self._queue:
                raise self._error
            return bool(self._queue)

    @property
    def replayed(self) -> ReplayedBatch | None:
        """The batch that is read again; None from its end on."""
        return self._replayed

    @property
    def idle(self) -> float:
        """Seconds for which all tasks have waited since they read records; 0 before they have started."""
        return min((reader.idle for reader in self._tasks), default=0.0)

    def repeat(self, replayed: ReplayedBatch) -> list[PolledChunk]:
        """The chunks of a batch that is read again; those behind it stay in the queue. Raises the error of a task, or
        ConnectError if the connector does not deliver the same records."""
        chunks: list[PolledChunk] = []
        while not replayed.complete(chunks):
            with self._changed:
                self._changed.wait_for(lambda: self._has_repeated or self._error is not None, _SLICE)
                taken = [chunk for chunk in self._queue if chunk.repeated]
                self._queue = deque(chunk for chunk in self._queue if not chunk.repeated)
                self._size -= sum(chunk.size for chunk in taken)
                if self._error is not None and not taken:
                    raise self._error
            chunks += taken
            replayed.check(self.idle, self._size)
        with self._changed:
            self._replayed = None
        return chunks

    @property
    def _has_repeated(self) -> bool:
        return any(chunk.repeated for chunk in self._queue)

    def committed(self, chunks: Sequence[PolledChunk]) -> None:
        """Spark has committed these chunks: notify their tasks, each on its own thread."""
        for reader in self._tasks:
            reader.committed([record for chunk in chunks if chunk.task == reader.number for record in chunk.records])

    def add(self, chunk: PolledChunk) -> None:
        """Called on the threads of tasks; waits while the queue is full."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < self._limit or self._replayed or self._stopping)
            self._queue.append(chunk)
            self._size += chunk.size
            self._changed.notify_all()

    def failed(self, error: BaseException) -> None:
        """Called on the thread of a task that has failed."""
        with self._changed:
            if not self._stopping:
                self._error = self._error or error
            self._changed.notify_all()


class TaskReader:
    """One task on its thread."""

    def __init__(
        self,
        feed: Feed,
        connector: SparkConnector,
        task: PlannedTask,
        position: StreamPosition,
        columns: Columns,
        target: Any,
    ) -> None:
        self.number = task.number
        self._feed, self._connector, self._task, self._position = feed, connector, task, position
        self._columns, self._target = columns, target
        self._replayed = feed.replayed
        self._run: SourceTaskRun | None = None
        self._committed: deque[Sequence[SourceRecord]] = deque()
        self.thread = threading.Thread(target=self._read, name=f"{connector.name}-{task.number}", daemon=True)
        self._stopping = False

    @property
    def idle(self) -> float:
        """Seconds waited since records were read."""
        return 0.0 if self._run is None else self._run.idle

    def stop_soon(self) -> None:
        """Ask the task to stop."""
        self._stopping = True
        if self._run is not None:
            self._run.stop_soon()

    def committed(self, records: Sequence[SourceRecord]) -> None:
        """These records have been committed."""
        self._committed.append(records)
        if self._run is not None:
            self._run.control.wake()

    def _read(self) -> None:
        try:
            self._run = run = SourceTaskRun(self._connector, self._task, self._position)
            try:
                run.start()
                self._loop(run)
            finally:
                run.stop()
        except BaseException as error:  # third-party code; the reader raises it
            self._feed.failed(error)

    def _loop(self, run: SourceTaskRun) -> None:
        rows = run.conversion.rows(self._columns, self._target, self._connector.options.infers)
        while not self._stopping:
            while self._committed:
                self._report(run, self._committed.popleft())
            records = run.poll()
            added = run.take_added()
            if not len(records) and not added:
                run.rest()
                continue
            replayed = self._replayed
            parts = [(records, False)] if replayed is None else replayed.parts(records)
            for part, repeated in parts:
                if len(part):
                    kept = part if run.reports_records else ()
                    self._feed.add(PolledChunk(self.number, progress_of(part), rows.of(part), kept, repeated))
            if added:
                repeated = replayed is not None and replayed.has_ends(added)
                self._feed.add(PolledChunk(self.number, added, [], (), repeated))

    def _report(self, run: SourceTaskRun, records: Sequence[SourceRecord]) -> None:
        """Tell the task that records are committed; its errors are logged, as by a worker."""
        try:
            run.committed(records)
        except Exception:  # third-party code
            _log.warning("Task %s raised an error in commit()", self.thread.name, exc_info=True)
