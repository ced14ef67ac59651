"""Running one task from start to end: what a slot does with each task it is given."""

from __future__ import annotations

import gc
import logging
import time
from typing import TYPE_CHECKING

from runtime.model.states import ConnectorType, State
from runtime.pipeline.load import load_task
from runtime.pipeline.task.control import Control, PluginCall, StoppedError
from runtime.pipeline.task.errors import RevokedError, TaskLostError
from runtime.pipeline.task.log import task_log
from runtime.pipeline.task.trace import trace_of

if TYPE_CHECKING:
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.task.error_counts import Counts
    from runtime.pipeline.task.meter import Meter

_log = logging.getLogger(__name__)


class TaskRunner:
    """A task on a slot. run() belongs to the task's own thread, the other calls to any other."""

    def __init__(self, spec: TaskSpec, host: SlotHost) -> None:
        self._spec, self._host = spec, host
        self._control = Control(spec.paused, host.check_lease)

    def run(self) -> None:
        """Runs the task until it ends: stopped, revoked, lost, or failed (reported here). Never raises."""
        _collect_garbage_seldom()
        with task_log(self._spec, self._host):
            try:
                self._run()
            except RevokedError:
                _log.info("The task was given up")
            except StoppedError:
                _log.info("The task was stopped while it waited for Kafka")
            except TaskLostError as error:
                self._lost(error)
            except BaseException as error:
                if not self._control.revoked:
                    self._failed(error)
            finally:
                self._host.producers.drop(str(self._spec.id))

    @property
    def call(self) -> PluginCall | None:
        """The connector's method that the task is in, if any."""
        return self._control.call

    @property
    def errors(self) -> Counts | None:
        """What became of records that failed; None before the first record."""
        return self._control.errors

    @property
    def meter(self) -> Meter:
        """What the task has done so far."""
        return self._control.meter

    def stop(self) -> None:
        """Finish gracefully: flush, commit, close. run() returns when that is done."""
        self._control.stop()

    def pause(self, paused: bool) -> None:
        self._control.pause(paused)

    def revoke(self) -> None:
        """Give up at once: no more put, produce or commit."""
        self._control.revoke()

    def forget_topics(self) -> None:
        """Report the topics that the task uses anew, each with its next record."""
        self._control.forget_topics()

    def _run(self) -> None:
        if not self._wait_while_paused():
            return
        task = load_task(self._spec)
        if self._spec.type == ConnectorType.SOURCE:
            from runtime.pipeline.source.source_task import SourceWorker

            SourceWorker(self._spec, task, self._host, self._control).run()
        else:
            from runtime.pipeline.sink.sink_task import SinkWorker

            SinkWorker(self._spec, task, self._host, self._control).run()

    def _wait_while_paused(self) -> bool:
        """A task assigned in the paused state is not started before it is resumed. False: stopped meanwhile."""
        if self._control.paused:
            self._host.state(self._spec, State.PAUSED)
        while self._control.paused and not self._control.stopping:
            self._control.wait(3600)
        return not self._control.stopping

    def _lost(self, error: TaskLostError) -> None:
        """A task stopped meanwhile reports nothing, since it must not be handed out again."""
        if self._control.stopping:
            return
        _log.error("The task is handed out again: %s", error)
        self._host.state(self._spec, State.UNASSIGNED, str(error))
        until = time.monotonic() + error.wait
        while (left := until - time.monotonic()) > 0 and not self._control.stopping:
            self._control.wait(left)

    def _failed(self, error: BaseException) -> None:
        trace = trace_of(error)
        _log.error("Task threw an uncaught and unrecoverable exception: %s", trace.rstrip())
        self._host.state(self._spec, State.FAILED, trace)


def _collect_garbage_seldom() -> None:
    """Records come by the thousands and never form cycles: at Python's threshold of 700 new objects the collector
    takes a fifth of a task's time."""
    if gc.get_threshold()[0] < 100_000:
        gc.set_threshold(100_000, 50, 100)
