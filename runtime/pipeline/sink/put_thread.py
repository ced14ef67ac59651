"""Executes the puts of a Python sink task on a second thread, for tasks that allow it (`SinkTask.puts_on_thread`)."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

from runtime.api.data.batch import SinkBatch

if TYPE_CHECKING:
    from runtime.api.data.record import SinkRecord
    from runtime.api.task import SinkTask


class PutThread:
    """A RemoteSinkTask."""

    def __init__(self, task: SinkTask) -> None:
        self._task = task
        self._executor = ThreadPoolExecutor(1, "put", self._started)
        self._thread: int | None = None
        self._running: Future[None] | None = None

    def prepare_put(self, records: Sequence[SinkRecord]) -> Sequence[SinkRecord]:
        """The records as the task takes them."""
        if isinstance(records, SinkBatch) and not self._task.takes_batches:
            return records.records
        return records

    def begin_put(self, prepared: Sequence[SinkRecord]) -> None:
        """Begin put() with these records."""
        self._running = self._executor.submit(copy_context().run, self._task.put, prepared)

    def end_put(self) -> None:
        """Wait for put(). Raises its error."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def stack(self) -> str:
        """Where put() is, as in tracebacks. On any thread."""
        frame = sys._current_frames().get(self._thread or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame))

    def close(self) -> None:
        """Wait for a put that is under way, and end the thread: the task's stop() is not called during put()."""
        self._executor.shutdown()

    def _started(self) -> None:
        self._thread = threading.get_ident()
