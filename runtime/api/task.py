"""Tasks, which copy the records, and the contexts through which they call the worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition

Partition = Mapping[str, Any]
"""A source partition: a part of the source system that is read in order, such as `{"filename": "/tmp/in.txt"}`."""

Offset = Mapping[str, Any]
"""A source offset: a position in a source partition, such as `{"position": 14}`."""

AlteredOffsets = Sequence[tuple[Partition | None, Offset | None]]
"""Source partitions and their new offsets; None resets them."""


class OffsetAndMetadata(int):
    """An offset in a topic partition, with text that the consumer group stores beside it (Java: OffsetAndMetadata).

    Kafka accepts up to `offset.metadata.max.bytes` (4,096 by default). Compares as its offset."""

    metadata: str

    def __new__(cls, offset: int, metadata: str = "") -> Self:
        made = super().__new__(cls, offset)
        made.metadata = metadata
        return made


class RecordMetadata(NamedTuple):
    """Where Kafka has stored a record (Java: RecordMetadata). `offset` is -1 if the producer has `acks=0`, `timestamp`
    in milliseconds since 1970; the sizes of key and value are bytes, -1 for null."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int = -1
    serialized_value_size: int = -1


class OffsetReader(Protocol):
    """The committed source offsets of the connector (Java: OffsetStorageReader). Thread-safe.

    During start() these are the offsets with which the worker has started the task. After that, each call reads all
    offsets that have been committed so far, by this task and by others, which takes milliseconds; with exactly-once
    delivery it also waits for open transactions that contain offsets of the connector. ConnectError if the offsets
    cannot be read, or if the task is stopped meanwhile."""

    def offset(self, partition: Partition) -> Offset | None:
        """The committed offset of a source partition; None if it has none."""

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The committed offset of each of these source partitions, in their order, read in one request."""


class TransactionContext(Protocol):
    """Lets a source task define where transactions end (KIP-618; Java: TransactionContext). Thread-safe.

    A commit or abort that names a record takes effect after that record; otherwise it takes effect after the next
    batch that poll() returns, or at once if there is nothing to poll. Aborted records are discarded, and their offsets
    are committed, so that they are not read again: to have them read again, raise an exception instead."""

    def commit(self, record: SourceRecord | None = None) -> None:
        """Commit the open transaction. ConnectError if its abort has already been requested."""

    def abort(self, record: SourceRecord | None = None) -> None:
        """Abort the open transaction. ConnectError if its commit has already been requested."""


class SourceTaskServices(Protocol):
    """Services of the worker for source tasks, async or not."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration."""

    @property
    def transactions(self) -> TransactionContext | None:
        """The transactions of the task; None unless records are delivered exactly once and `transaction.boundary` is
        `connector`."""

    def wake(self) -> None:
        """Make the worker call poll() immediately instead of after `idle_poll` seconds. Thread-safe."""

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Commit these offsets although no record has them, for example after a part of the source system without
        records. They are committed with the offsets of the records that poll() has returned before, or returns from
        the call in progress: later if they are added on another thread than the task's. Thread-safe.

        An addition to Connect's API."""

    def request_commit(self) -> None:
        """Commit offsets as soon as the records before them have been written, instead of after
        `offset.flush.interval.ms` or at the end of the interval of a transaction. No effect where the task defines its
        transactions. Thread-safe. An addition to Connect's API, which has this method for sink tasks."""


class SourceTaskContext(SourceTaskServices, Protocol):
    """Services of the worker for a source task."""

    @property
    def offsets(self) -> OffsetReader:
        """The committed source offsets, from which to resume."""


class PendingReport(Protocol):
    """A report of a failed record that may not have been written yet (Java: Future)."""

    def done(self) -> bool:
        """Whether the report has been written or has failed."""

    def result(self, timeout: float | None = None) -> None:
        """Wait for up to `timeout` seconds (None: without limit) until the report is written. Raises TimeoutError, or
        ConnectError if it could not be written."""


class ErrantRecordReporter(Protocol):
    """Accepts records that a sink task could not write (KIP-610), during put() or later."""

    def report(self, record: SinkRecord, error: Exception) -> PendingReport:
        """Log the record and send it to the dead letter queue, as configured. The worker commits no offset beyond the
        record before the report is written, if report() is called before pre_commit() returns the offset.

        Thread-safe. Waits while too many reports are unacknowledged, so that they take a bounded amount of memory.
        Raises ConnectError if errors are not tolerated; the task must not catch it."""


class SinkTaskServices(Protocol):
    """Services of the worker for sink tasks, async or not. Thread-safe; requests take effect between two calls of the
    task."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned to the task."""

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        """The offset that the group has committed for each assigned partition, as OffsetAndMetadata if it was committed
        with metadata; the offset from which reading started if none is committed."""

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Continue from these offsets with the next fetch."""

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop fetching from these partitions until resume()."""

    def resume(self, *partitions: TopicPartition) -> None:
        """Fetch from these partitions again."""

    def request_commit(self) -> None:
        """Commit offsets soon instead of after `offset.flush.interval.ms`."""

    def check_ownership(self) -> None:
        """Raise an error if the task has been revoked, or if its slot has lost its lease, so that another task may own
        the partitions already. For tasks that publish on threads of their own: call it last before publishing. The
        worker does this before each call of the task. An addition to Connect's API."""

    def timeout(self, seconds: float) -> None:
        """Call put() again after this time (Java: timeout(), in milliseconds): with the same batch if put() raises
        RetriableError, otherwise with new records or, if there are none by then, with an empty batch. Applies once.

        Without it, a failed put() is retried after 0.1 s, and then after twice the time before, up to 5 s."""


class SinkTaskContext(SinkTaskServices, Protocol):
    """Services of the worker for a sink task."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None if neither a dead letter queue nor the logging of errors is configured."""


class Task(ABC):
    """Copies a part of a connector's data. All methods are called from one thread (Java: Task)."""

    def version(self) -> str:
        """The plugin's version; by default the Kafka Connect release that this worker implements."""
        from runtime import CONNECT_VERSION

        return CONNECT_VERSION

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Start the task with its configuration; an exception sets the task to FAILED."""

    def stop(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that start() acquired. Called once, also after a failure."""


class SourceTask(Task):
    """Reads records from another system (Java: SourceTask)."""

    reuses_records: ClassVar[bool] = True
    """Whether the task may keep or return the same record objects again. If False, transformations change the records
    in place, which is faster."""

    idle_poll: float = 0.1
    """Maximum seconds between two calls of poll() that return nothing. May change at any time; a task that calls
    context.wake() when data arrives can raise it and cost nothing while idle."""

    timestamps_are_now: ClassVar[bool] = False
    """Whether records have the time of poll() as their timestamp. If True, the Kafka client sets the timestamp when it
    sends a record, which is faster; transformations still see the record's own."""

    context: SourceTaskContext

    @abstractmethod
    def poll(self) -> Sequence[SourceRecord] | None:
        """The next batch of records, at most a few thousand; None or empty if no data is available. If the values share
        a schema, return a SourceBatch: the worker processes it faster.

        May wait for data for about a second, not longer: the worker stops a task between two calls.
        """

    def commit(self) -> None:
        """Called after the worker has committed source offsets, and every `offset.flush.interval.ms` if there are none
        to commit. Exceptions are logged; the offsets are committed nevertheless."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called for each record that poll() has returned, before its offset is committed or, with exactly-once
        delivery, after its transaction has been committed. `metadata` is None if the record was dropped by a
        transformation, skipped because errors are tolerated, or aborted with its transaction. Exceptions are logged.

        A task that overrides this method has its records sent one by one, which is slower."""


class SinkTask(Task):
    """Writes records to another system (Java: SinkTask)."""

    takes_batches: ClassVar[bool] = False
    """Whether put() accepts a `SinkBatch`: a sequence whose records are created only when they are accessed, with the
    values of all records as columns."""

    commits_late: ClassVar[bool] = False
    """Whether pre_commit() returns offsets of records that were put long before. If True, the worker checks before each
    commit that the topics have not been deleted and created again, whose offsets would mean other records. If one was,
    the task ends and is started again. An addition to Connect's API."""

    idle_put: float | None = None
    """Seconds after which put() is called with an empty batch while there are no records, so that a task that keeps
    records back can write them; None, the default: never. May change at any time."""

    empty_puts: ClassVar[bool] = False
    """Whether put() is called with an empty batch whenever Apache's worker does so: before each periodic commit of
    offsets (`offset.flush.interval.ms`) if no records have arrived, also while the connector is paused or the task has
    no partition, and for records that were all dropped or skipped. True for tasks in Java."""

    puts_on_thread: ClassVar[bool] = False
    """Whether put() may run on a second thread, while the worker fetches and converts the next records: faster for a
    task that spends most of put() waiting for another system. No two methods run at the same time, but resources of the
    task must not be bound to one thread; a put() that is repeated runs on the thread of the other methods. An addition
    to Connect's API."""

    context: SinkTaskContext

    @abstractmethod
    def put(self, records: Sequence[SinkRecord]) -> None:
        """Write a batch, which may be empty. After a RetriableError the worker calls put() with the batch again."""

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make all records put so far durable. `offsets` holds the next offset to read in each partition."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Flush, and return the offsets that may be committed; by default all of `offsets`. An OffsetAndMetadata is
        committed with its metadata."""
        self.flush(offsets)
        return offsets

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Called after the group has committed these offsets, which pre_commit() returned; Java has no counterpart.
        The last call may arrive between close() and stop(), or after the partitions were revoked."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Called when these partitions have been assigned, before their first records."""

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Called when these partitions are revoked, after a flush and before their offsets are committed."""
