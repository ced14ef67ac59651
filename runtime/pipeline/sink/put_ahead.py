"""Puts that are executed elsewhere, while the task's thread fetches and converts the next batch.

One put is under way at a time, and its batch counts as put only after it has returned: before the next put, a commit, a
rebalance, a pause and the end of the task, the worker waits for it.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from runtime.api.data.batch import SinkBatch
from runtime.api.data.record import SinkRecord
from runtime.pipeline.sink.convert_sink import Positions

if TYPE_CHECKING:
    from runtime.api.data.record import SinkRecord
    from runtime.api.task import SinkTask
    from runtime.pipeline.sink.sink_context import SinkContext


class EmptyPuts:
    """Measures the time since the last put(). Called on the task's thread."""

    def __init__(self, task: SinkTask, context: SinkContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._context, self._clock = task, context, clock
        self._last = clock()
        self._requested: float | None = None  # when the task wants to be called

    def called(self) -> None:
        """put() has returned."""
        self._last, self._requested = self._clock(), None

    def due(self, next_commit: float, paused: bool = False) -> bool:
        """Whether put() must be called, even without records. A task without partitions, or whose connector is paused,
        is called only if it wants all empty puts of Connect."""
        if not self._task.empty_puts and (paused or not self._context.positions):
            return False
        at = self._next(next_commit)
        return at is not None and self._clock() >= at

    def wait(self, longest: float, next_commit: float) -> float:
        """Seconds until put() must be called, at most `longest`."""
        at = self._next(next_commit)
        return longest if at is None else max(0.0, min(longest, at - self._clock()))

    def _next(self, next_commit: float) -> float | None:
        timeout = self._context.take_timeout()
        if timeout is not None:
            self._requested = self._clock() + timeout
        idle = None if self._task.idle_put is None else self._last + self._task.idle_put
        times = (self._requested, idle, next_commit if self._task.empty_puts else None)
        return min((at for at in times if at is not None), default=None)


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


_ALONE = 100  # batches that wait for the one before after a batch was given back


class RemoteSinkTask(Protocol):
    """A sink task whose put() can be divided."""

    def prepare_put(self, records: Sequence[SinkRecord]) -> Any:
        """What begin_put() needs. May be called while a put is under way, and the result may be dropped."""

    def begin_put(self, prepared: Any) -> None:
        """Begin put() with these records."""

    def end_put(self) -> None:
        """Wait for put(). Raises its error."""


@dataclass(slots=True)
class FetchedBatch:
    """Messages, and the records for the task."""

    messages: Sequence[Any]
    ends: Positions
    moment: int  # of PartitionAssignment, when the messages were fetched
    records: Sequence[SinkRecord] = ()
    positions: Positions = field(default_factory=dict)
    prepared: Any = None
    started: float = 0.0  # when put() was called (time.monotonic())


class PutAhead:
    """The put that is under way. All methods are called on the task's thread."""

    def __init__(
        self, task: SinkTask, call: Callable[[Callable[[], None]], None], done: Callable[[FetchedBatch], None]
    ) -> None:
        """`call` executes a call of the task; `done` is called with each batch that has been put."""
        self._thread = PutThread(task) if task.puts_on_thread else None
        self._task = cast("RemoteSinkTask", task) if hasattr(task, "begin_put") else self._thread
        self._call, self._done = call, done
        self._batch: FetchedBatch | None = None
        self._error: BaseException | None = None
        self._alone = 0

    @property
    def stack(self) -> Callable[[], str] | None:
        """Where the put under way is, if that is not the task's thread."""
        return self._thread.stack if self._thread is not None and self.pending else None

    @property
    def enabled(self) -> bool:
        """Whether the next batch may be put while the one after it is fetched."""
        return self._task is not None and not self._alone

    @property
    def pending(self) -> bool:
        """Whether a put has started, and has neither finished nor had its error taken."""
        return self._batch is not None

    def prepare(self, batch: FetchedBatch) -> None:
        if self._task is not None:
            batch.prepared = self._task.prepare_put(batch.records)

    def begin(self, batch: FetchedBatch) -> None:
        assert self._task is not None and self._batch is None
        batch.started = time.monotonic()
        self._task.begin_put(batch.prepared)
        batch.prepared = None
        self._batch = batch

    def collect(self) -> None:
        """Waits for the put under way, if there is one. Its error is kept for take_failed()."""
        if self._task is None or self._batch is None or self._error is not None:
            return
        try:
            self._call(self._task.end_put)
        except BaseException as error:  # the plugin's, such as SystemExit: the batch has not been put in any case
            self._error = error
        else:
            batch, self._batch = self._batch, None
            self._done(batch)

    def take_failed(self) -> tuple[FetchedBatch, BaseException] | None:
        """Waits as collect(). The batch whose put has failed, and its error."""
        self.collect()
        if self._batch is None or self._error is None:
            return None
        failed = self._batch, self._error
        self._batch = self._error = None
        return failed

    def close(self) -> None:
        """The task is about to be stopped."""
        if self._thread is not None:
            self._thread.close()

    def given_back(self) -> None:
        """A batch is fetched again since the put before it has sought or paused: the next ones are not fetched in
        advance, since the task is likely to do so again."""
        self._alone = _ALONE

    def put_alone(self) -> None:
        """A batch has been put without another one being fetched meanwhile."""
        self._alone = max(0, self._alone - 1)
