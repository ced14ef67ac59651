"""One source that the session reads for a task.

A thread of the stream reads: it runs a streaming query, or reads a table or query once or at intervals. Each batch is
spooled and kept until the task has committed it; only then is the next one planned.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from runtime.engine.driver.session.source.checkpoint import SourceCheckpoint
from runtime.engine.driver.session.source.reading import ONCE, STREAM, source_frame
from runtime.engine.driver.session.source.topics.continuation import has_state
from runtime.engine.driver.session.source.topics.query import topics_frame

_log = logging.getLogger(__name__)
_CHECK_INTERVAL = 0.25  # seconds
_STOP_WAIT = 30.0  # seconds
_STARTS = 5  # of a query whose planner, a Python process, needs more than Spark's ten seconds: the machine is busy
_PLANNER_LATE = "Python worker failed to connect back"


class StreamStoppedError(Exception):
    """The task has ended."""


class SourceStream:
    """Reads in a thread of its own until stop(). Thread-safe."""

    def __init__(
        self,
        session: Any,
        source: Mapping[str, Any],
        checkpoint: SourceCheckpoint,
        committed: int,
        spooling: threading.Semaphore,
        local_folder: Path,
    ) -> None:
        """`session` is used by this stream only. `committed` is the last committed batch, -1 without one.
        `spooling` limits the batches that are spooled at the same time. `local_folder` is for copies of batches."""
        self._session, self._source, self._checkpoint = session, source, checkpoint
        self._spooling, self._local = spooling, local_folder
        self._changed = threading.Condition()
        self._committed = committed
        self._ready: dict[str, Any] | None = None
        self._asked: Future[Any] | None = None
        self._error: BaseException | None = None
        self._stopped = False
        self._query: Any = None
        self._has_state = False
        self._thread = threading.Thread(target=self._run, name=f"source-{checkpoint.name}", daemon=True)

    @property
    def place(self) -> str:
        """The URI of the checkpoint."""
        return self._checkpoint.place

    def start(self) -> None:
        """Start to read."""
        self._thread.start()

    def next(self, committed: int) -> Future[Any]:
        """The number, spool, files and duration of the batch behind `committed`, the last one that the task has
        committed. Fails with the error that has ended the stream."""
        asked: Future[Any] = Future()
        with self._changed:
            if committed > self._committed:
                self._committed = committed
            self._asked = asked
            self._respond()
            self._changed.notify_all()
        return asked

    def stop(self) -> None:
        """End the reading; waits for the end, for a limited time."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if (query := self._query) is not None:
            with suppress(Exception):  # the query may have failed
                query.stop()
        else:
            self._session.sparkContext.cancelJobGroup(self._checkpoint.name)
        self._thread.join(_STOP_WAIT)
        shutil.rmtree(self._local, ignore_errors=True)

    # The thread

    def _run(self) -> None:
        try:
            (self._follow if self._source["mode"] == STREAM else self._repeat)()
        except BaseException as error:  # the task gets any error of Spark
            with self._changed:
                if not self._stopped:
                    self._error = self._error or error
                    self._respond()

    def _follow(self) -> None:
        """Run a streaming query until it ends."""
        mode = "append"
        if (query_source := self._source.get("query")) is not None:
            frame, mode = topics_frame(self._session, self._source, self._checkpoint), query_source["output_mode"]
        else:
            frame = source_frame(self._session, self._source)
        self._has_state = has_state(frame)
        writer = (
            frame.writeStream.foreachBatch(self._take_streamed)
            .outputMode(mode)
            .option("checkpointLocation", self._checkpoint.query_folder)
        )
        writer = writer.trigger(processingTime=f"{int(self._source['trigger'] * 1000)} milliseconds")
        for left in reversed(range(_STARTS)):
            try:
                self._await(writer.start())
            except Exception as error:  # PySpark's are of several classes
                if not left or _PLANNER_LATE not in str(error):
                    raise
                _log.warning("A Python process of the query has not started in time; it is started again")

    def _await(self, query: Any) -> None:
        with self._changed:
            self._query, stopped = query, self._stopped
        if stopped:
            query.stop()
        query.awaitTermination()
        raise StreamStoppedError("The streaming query has ended")

    def _repeat(self) -> None:
        """Read a table or query once or at intervals."""
        self._session.sparkContext.setJobGroup(self._checkpoint.name, self.place, interruptOnCancel=True)
        batch = self._committed
        while not self._stopped:
            started = time.monotonic()
            if self._source["mode"] == ONCE and batch >= 0:
                self._wait(lambda: False, None)
            batch += 1
            self._take(lambda: source_frame(self._session, self._source), batch)
            self._wait(lambda: False, max(started + self._source["trigger"] - time.monotonic(), 0))

    def _take_streamed(self, frame: Any, batch: int) -> None:
        try:
            self._take(lambda: frame, batch)
        except BaseException as error:
            with self._changed:
                self._error = self._error or error  # Spark's own error has it only as text
            raise

    def _take(self, frame: Callable[[], Any], batch: int) -> None:
        """Spool a batch, and wait until it has been committed."""
        if batch > self._committed:
            started = time.monotonic()
            spool = self._spool(frame, batch)
            seconds = round(time.monotonic() - started, 3)
            files = self._checkpoint.files(batch, spool, self._local_folder())
            with self._changed:
                self._ready = {"batch": batch, "spool": spool, "files": files, "seconds": seconds}
                self._respond()
            self._wait(lambda: self._committed >= batch, None)
            with self._changed:
                self._ready = None
        elif self._has_state:
            self._compute_state(frame())
        self._checkpoint.mark_committed()
        self._checkpoint.remove(batch)
        shutil.rmtree(self._local, ignore_errors=True)

    def _spool(self, frame: Callable[[], Any], batch: int) -> str:
        """Spool a batch unless that has been done. Returns the name of the spool."""
        if (spooled := self._checkpoint.spooled(batch)) is not None:
            if self._has_state:
                self._compute_state(frame())
            return spooled
        while not self._spooling.acquire(timeout=_CHECK_INTERVAL):
            self._check()
        try:
            self._check()
            return self._checkpoint.spool(frame(), batch)
        finally:
            self._spooling.release()

    def _compute_state(self, frame: Any) -> None:
        """Run a batch whose rows an earlier run has spooled: the next batch needs the state behind it."""
        frame.write.format("noop").mode("overwrite").save()

    def _local_folder(self) -> str:
        self._local.mkdir(mode=0o700, exist_ok=True)
        return str(self._local)

    def _wait(self, until: Callable[[], bool], seconds: float | None) -> None:
        """Wait; StreamStoppedError if the stream is stopped meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or until(), seconds)
        self._check()

    def _check(self) -> None:
        if self._stopped:
            raise StreamStoppedError("The task has been stopped")

    def _respond(self) -> None:
        """Answer the task if there is something; called with the lock."""
        asked = self._asked
        if asked is None or (self._ready is None and self._error is None):
            return
        if self._error is None and self._ready is not None and self._ready["batch"] <= self._committed:
            return
        self._asked = None
        if not asked.set_running_or_notify_cancel():
            return
        if self._error is not None:
            asked.set_exception(self._error)
        else:
            asked.set_result(self._ready)
