"""Tasks: what moves records, and the contexts the runtime gives to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition

Partition = Mapping[str, Any]
"""A source partition: what the connector reads from, for example `{"filename": "/tmp/in.txt"}`."""

Offset = Mapping[str, Any]
"""A source offset: how far it has read, for example `{"position": 14}`."""


class OffsetReader(Protocol):
    """Offsets as they were committed (or altered by an operator) when the task started."""

    def offset(self, partition: Partition) -> Offset | None:
        """The offset of one source partition; None when there is none."""


class SourceTaskContext(Protocol):
    """What the runtime offers to a source task."""

    @property
    def configs(self) -> Mapping[str, str]: ...

    @property
    def offsets(self) -> OffsetReader: ...

    def wake(self) -> None:
        """Have poll() be called at once, from any thread: for tasks that are told of news (see idle_poll)."""


class Report(Protocol):
    """A failed record on its way to where it is put aside."""

    def done(self) -> bool: ...

    def result(self, timeout: float | None = None) -> None:
        """Wait (seconds) until it is there; TimeoutError, or ConnectError when that failed."""


class ErrantRecordReporter(Protocol):
    """Takes records that a sink task could not write (KIP-610)."""

    def report(self, record: SinkRecord, error: Exception) -> Report:
        """Log the record and put it aside, as configured; ConnectError, to be let through, where errors are not
        tolerated. No offset behind the record is committed before it is where it goes."""


class SinkTaskContext(Protocol):
    """What the runtime offers to a sink task."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None where neither a dead letter topic nor the logging of errors is configured."""

    @property
    def configs(self) -> Mapping[str, str]: ...

    @property
    def assignment(self) -> frozenset[TopicPartition]: ...

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Go on reading from these offsets at the next poll."""

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None:
        """Commit offsets soon, without waiting for the flush interval."""


class Task(ABC):
    """A unit of work. All calls come from one thread."""

    def version(self) -> str:
        """The plugin's version; by default the release whose behaviour it keeps."""
        from runtime import CONNECT_VERSION

        return CONNECT_VERSION

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Get ready; raise to make the task FAILED."""

    def stop(self) -> None:  # noqa: B027 - optional hook
        """Release what start() took. Called once, also after a failure."""


class SourceTask(Task):
    """Reads records from another system (Connect: SourceTask)."""

    reuses_records: ClassVar[bool] = True
    """False says that poll() gives new record objects each time and forgets them: then transformations change these
    in place, which is quicker."""

    idle_poll: float = 0.1
    """Seconds between two polls while they bring nothing, at the longest. May be changed at any time; a task that
    calls context.wake() when there is news can let it be longer, and cost nothing meanwhile."""

    timestamps_are_now: ClassVar[bool] = False
    """True says that records have the time of poll() as their timestamp: the Kafka client stamps them when it sends
    them, which is quicker and next to the same. Transformations see the record's own."""

    context: SourceTaskContext

    @abstractmethod
    def poll(self) -> Sequence[SourceRecord] | None:
        """A batch of records, at most a few thousand; None or empty when there are none now. A
        runtime.api.data.batch.SourceBatch is the quick way to bring many that are alike.

        May block for up to about a second waiting for data, never longer: the task is stopped between polls.
        """

    def commit(self) -> None:
        """Offsets of what was polled before have been committed."""


class SinkTask(Task):
    """Writes records into another system (Connect: SinkTask)."""

    takes_batches: ClassVar[bool] = False
    """Whether put() accepts a `SinkBatch`: a sequence whose records are created only when they are accessed, with the
    values of all records as columns."""

    context: SinkTaskContext

    @abstractmethod
    def put(self, records: Sequence[SinkRecord]) -> None:
        """Take a batch; may be empty. RetriableError asks for the same batch again."""

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make everything put so far durable; `offsets` are the next offsets to be read."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Flush, and say which of `offsets` may be committed; by default all of them."""
        self.flush(offsets)
        return offsets

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions have been assigned."""

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions go elsewhere; what they brought has been committed."""
