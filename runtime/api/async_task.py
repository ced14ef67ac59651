"""Tasks whose methods are coroutines, and the contexts through which they call the worker.

Each task has an event loop of its own, on a thread of its own, that runs from start() until stop() has returned. So
clients such as httpx.AsyncClient and background tasks (asyncio.create_task) work as in any asyncio program, and go on
while the worker converts and sends records. A call that blocks the loop delays this task only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.task import Offset, Partition, RecordMetadata, SinkTaskServices, SourceTaskServices


class AsyncOffsetReader(Protocol):
    """Like OffsetReader, without blocking the event loop."""

    async def offset(self, partition: Partition) -> Offset | None:
        """The committed offset of a source partition; None if it has none."""

    async def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The committed offset of each of these source partitions, in their order, read in one request."""


class AsyncSourceTaskContext(SourceTaskServices, Protocol):
    """Services of the worker for an async source task."""

    @property
    def offsets(self) -> AsyncOffsetReader:
        """The committed source offsets, from which to resume."""


class AsyncErrantRecordReporter(Protocol):
    """Like ErrantRecordReporter, without blocking the event loop."""

    async def report(self, record: SinkRecord, error: Exception) -> None:
        """Log the record and send it to the dead letter queue, as configured; returns when the report is queued. The
        worker commits no offset beyond the record before the report is written.

        Raises ConnectError if errors are not tolerated; the task must not catch it."""


class AsyncSinkTaskContext(SinkTaskServices, Protocol):
    """Services of the worker for an async sink task."""

    @property
    def errant_record_reporter(self) -> AsyncErrantRecordReporter | None:
        """None if neither a dead letter queue nor the logging of errors is configured."""


class AsyncTask(ABC):
    """Copies a part of a connector's data. All methods are called on the task's event loop."""

    def version(self) -> str:
        """The plugin's version; by default the Kafka Connect release that this worker implements."""
        from runtime import CONNECT_VERSION

        return CONNECT_VERSION

    @abstractmethod
    async def start(self, config: Mapping[str, str]) -> None:
        """Start the task with its configuration; an exception sets the task to FAILED. Cancelled if the task is
        stopped before start() has returned."""

    async def stop(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that start() acquired. Called once, also after a failure. When it has returned, the
        remaining asyncio tasks are cancelled."""


class AsyncSourceTask(AsyncTask):
    """Reads records from another system. Like SourceTask, with coroutines."""

    reuses_records: ClassVar[bool] = True
    """Whether the task may keep or return the same record objects again. If False, transformations change the records
    in place, which is faster."""

    idle_poll: float = 0.1
    """Maximum seconds between two calls of poll() that return nothing. A poll() that waits for data needs no such
    time."""

    timestamps_are_now: ClassVar[bool] = False
    """Whether records have the time of poll() as their timestamp; see SourceTask."""

    context: AsyncSourceTaskContext

    @abstractmethod
    async def poll(self) -> Sequence[SourceRecord] | None:
        """The next batch of records, at most a few thousand; None or empty if no data is available.

        May wait for data without limit: commits and pauses take place meanwhile, so that commit() and commit_record()
        may run while poll() waits. A stop of the task cancels poll(); records that it has not returned are read again
        at the next start."""

    async def commit(self) -> None:
        """Called after the worker has committed source offsets, and every `offset.flush.interval.ms` if there are none
        to commit. Exceptions are logged; the offsets are committed nevertheless."""

    async def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called for each record that poll() has returned; see SourceTask.commit_record()."""


class AsyncSinkTask(AsyncTask):
    """Writes records to another system. Like SinkTask, with coroutines. The methods are called one after another; a
    stop of the task waits for them."""

    takes_batches: ClassVar[bool] = False
    """Whether put() accepts a `SinkBatch`; see SinkTask."""

    idle_put: float | None = None
    """Seconds after which put() is called with an empty batch while there are no records; None: never."""

    context: AsyncSinkTaskContext

    @abstractmethod
    async def put(self, records: Sequence[SinkRecord]) -> None:
        """Write a batch, which may be empty. After a RetriableError the worker calls put() with the batch again."""

    async def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make all records put so far durable. `offsets` holds the next offset to read in each partition."""

    async def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Flush, and return the offsets that may be committed; by default all of `offsets`."""
        await self.flush(offsets)
        return offsets

    async def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Called when these partitions have been assigned, before their first records."""

    async def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Called when these partitions are revoked, after a flush and before their offsets are committed."""
