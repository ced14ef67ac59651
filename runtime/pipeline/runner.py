"""Runs one task in a slot, from start to end."""

from __future__ import annotations

import gc
import logging
import threading
import time
from typing import TYPE_CHECKING

from runtime.java.errors import HostLostError
from runtime.java.plugins.shared_host import release_objects
from runtime.model.states import ConnectorType, State
from runtime.model.task_errors import ClientFailedError, TaskLostError
from runtime.pipeline.load import load_task
from runtime.pipeline.task.control import PluginCall, StoppedError, TaskControl
from runtime.pipeline.task.failure import RevokedError, drop_tracebacks, trace_of
from runtime.pipeline.task.log import task_log
from runtime.pipeline.task.throttle import throttle_of
from runtime.pipeline.task_forms import as_sink, as_source

if TYPE_CHECKING:
    from runtime.model.rate_limit import RateLimit
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.task.error_counts import Counts
    from runtime.pipeline.task.meter import Meter

_log = logging.getLogger(__name__)


class TaskRunner:
    """A task in a slot. run() is called on the task's thread, the other methods on any thread."""

    def __init__(self, spec: TaskSpec, host: SlotHost) -> None:
        self._spec, self._host = spec, host
        self._control = TaskControl(spec.paused, host.check_lease, throttle_of(spec.limit))
        self._thread = 0  # while run() is executed
        self._releasing = threading.Lock()
        self._must_end = False  # stopped or revoked by the worker
        self._move_reason: str | None = None

    def run(self) -> None:
        """Runs the task until it ends: stopped, revoked, lost, or failed (reported here). Never raises."""
        _collect_garbage_rarely()
        self._thread = threading.get_ident()
        with task_log(self._spec, self._host):
            try:
                self._run()
                self._moved()
            except BaseException as error:  # the task ends with any error
                self._ended(error)
                drop_tracebacks(error)
            finally:
                with self._releasing:
                    release_objects(self._thread, ended=True)
                    self._thread = 0
                self._host.producers.drop(str(self._spec.id))

    @property
    def call(self) -> PluginCall | None:
        """The connector's method that is running, if any."""
        return self._control.call

    @property
    def errors(self) -> Counts | None:
        """Counts of failed records; None before the first record."""
        return self._control.errors

    @property
    def meter(self) -> Meter:
        """Counts of the task's work so far."""
        return self._control.meter

    def stop(self) -> None:
        """Stop gracefully: flush, commit, close. run() returns when that is done."""
        self._must_end = True
        self._control.stop()

    def move(self, reason: str) -> None:
        """Stop gracefully, and have the task placed again."""
        self._move_reason = reason
        self._control.stop()

    def pause(self, paused: bool) -> None:
        """Pause or resume the task."""
        self._control.pause(paused)

    def limit(self, limit: RateLimit) -> None:
        """Change the task's rate limit."""
        self._control.limit(limit)

    def revoke(self) -> None:
        """End immediately, without further put, produce or commit. Calls of Java plugins are interrupted."""
        self._must_end = True
        self._control.revoke()
        with self._releasing:
            if self._thread:  # another task may have the same thread later
                release_objects(self._thread)

    def reset_topics(self, at: int) -> None:
        """The connector's topics were reset at this time (milliseconds since 1970): report those used since, and the
        others with their next records."""
        for topic in self._control.topics.reset(at):
            self._host.topic(self._spec, topic)

    def _run(self) -> None:
        if not self._wait_while_paused():
            return
        task, name = load_task(self._spec), str(self._spec.id)
        if self._spec.type == ConnectorType.SOURCE:
            from runtime.pipeline.source.source_task import SourceWorker

            SourceWorker(self._spec, as_source(task, self._control, name), self._host, self._control).run()
        else:
            from runtime.pipeline.sink.sink_task import SinkWorker

            SinkWorker(self._spec, as_sink(task, self._control, name), self._host, self._control).run()

    def _wait_while_paused(self) -> bool:
        """Wait until a task that was assigned in the paused state is resumed. False if it is stopped before that."""
        if self._control.paused:
            self._host.state(self._spec, State.PAUSED)
        while self._control.paused and not self._control.stopping:
            self._control.wait(3600)
        return not self._control.stopping

    def _ended(self, error: BaseException) -> None:
        match error:
            case RevokedError():
                _log.info("The task was revoked")
            case StoppedError():
                _log.info("The task was stopped while it waited for Kafka or started")
                self._moved()
            case TaskLostError():
                self._lost(error)
            case HostLostError():
                self._lost(TaskLostError(str(error)))
            case _ if not self._control.revoked:
                self._failed(error)

    def _lost(self, error: TaskLostError) -> None:
        """Report that the task must be placed again, unless it was stopped meanwhile."""
        if self._must_end:
            return
        _log.error("The task is restarted: %s", error)
        self._host.state(self._spec, State.UNASSIGNED, str(error), isinstance(error, ClientFailedError))
        until = time.monotonic() + error.wait
        while (left := until - time.monotonic()) > 0 and not self._control.stopping:
            self._control.wait(left)

    def _moved(self) -> None:
        """The task has ended gracefully: report that it must be placed again if this was requested."""
        if self._move_reason is not None and not self._must_end:
            _log.info("The task is restarted: %s", self._move_reason)
            self._host.state(self._spec, State.UNASSIGNED, self._move_reason)

    def _failed(self, error: BaseException) -> None:
        trace = trace_of(error)
        _log.error("Task threw an uncaught and unrecoverable exception: %s", trace.rstrip())
        self._host.state(self._spec, State.FAILED, trace)


def _collect_garbage_rarely() -> None:
    """Records are created by the thousands and form no cycles: with Python's threshold of 700 new objects the garbage
    collector takes a fifth of a task's time."""
    if gc.get_threshold()[0] < 100_000:
        gc.set_threshold(100_000, 50, 100)
