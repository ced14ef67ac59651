"""The ErrantRecordReporter of sink tasks (KIP-610)."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, cast

from runtime.api.errors import ConnectError
from runtime.pipeline.sink.convert_sink import message_place
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Tolerance

if TYPE_CHECKING:
    from runtime.api.data.record import SinkRecord
    from runtime.api.task import PendingReport

_SINK_TASK = "org.apache.kafka.connect.sink.SinkTask"


class _Done:
    """The result of a report that is only logged."""

    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> None:
        """Returns immediately."""


class ErrantRecords:
    """Reports records as failed in put(). The task may report on any thread; check() is for the task's own."""

    def __init__(self, tolerance: Tolerance) -> None:
        """Called on the task's thread."""
        self._tolerance = tolerance
        self._thread = threading.get_ident()
        self._context = contextvars.copy_context()  # log lines of other threads carry the task's name
        self._exceeded: Exception | None = None
        self.gave_up = False
        """Whether a report was not made on another thread because the task is being stopped."""

    def check(self) -> None:
        """Raises the error of report() if errors are not tolerated, in case the task has caught it."""
        if self._exceeded is not None:
            raise ConnectError("Tolerance exceeded in error handler") from self._exceeded

    def report(self, record: SinkRecord, error: Exception) -> PendingReport:
        """Log the record and write it to the dead letter topic, as configured. ConnectError if errors are not
        tolerated, or if the task is stopped while another thread waits for room."""
        if threading.get_ident() == self._thread:
            return self._report(record, error)
        try:
            return self._context.copy().run(self._report, record, error)
        except StoppedError:
            self.gave_up = True
            raise ConnectError("The record was not reported, since the task is being stopped") from None

    def _report(self, record: SinkRecord, error: Exception) -> PendingReport:
        message = record.source
        if message is None:
            raise ConnectError("The record cannot be reported: it was not created by the runtime")
        self._tolerance.counts.failed_try()
        failure = Failure(Stage.TASK_PUT, _SINK_TASK, error, message, message_place(message))
        letter = self._tolerance.report(failure)
        if not self._tolerance.policy.tolerate_all:
            self._exceeded = error
            self.check()
        self._tolerance.counts.was_skipped(Stage.TASK_PUT)
        return cast("PendingReport", letter or _Done())
