"""Puts that are executed elsewhere, while the task's thread fetches and converts the next batch.

One put is under way at a time, and its batch counts as put only after it has returned: before the next put, a commit, a
rebalance, a pause and the end of the task, the worker waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from runtime.api.data.record import SinkRecord
from runtime.pipeline.sink.convert_sink import Positions
from runtime.pipeline.sink.put_thread import PutThread

if TYPE_CHECKING:
    from runtime.api.task import SinkTask

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
        """Prepares the put of a batch."""
        if self._task is not None:
            batch.prepared = self._task.prepare_put(batch.records)

    def begin(self, batch: FetchedBatch) -> None:
        """Begins the put of a batch."""
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
