"""Contexts for tasks that a test runs directly, without a worker."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.task import ErrantRecordReporter, Offset, Partition, SinkTaskContext, SourceTask, SourceTaskContext

TaskT = TypeVar("TaskT", bound=SourceTask)


@dataclass
class StoredOffsets:
    """An OffsetReader over a list of source partitions and offsets."""

    stored: list[tuple[Partition, Offset]] = field(default_factory=list)

    def offset(self, partition: Partition) -> Offset | None:
        return next((offset for found, offset in reversed(self.stored) if found == partition), None)

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        return [self.offset(partition) for partition in partitions]

    def commit(self, records: Sequence[SourceRecord]) -> None:
        """Stores the offsets of these records."""
        self.stored += [(r.source_partition or {}, r.source_offset or {}) for r in records]


class TaskSourceContext:
    """A SourceTaskContext with offsets of the test."""

    transactions = None

    def __init__(self, offsets: StoredOffsets | None = None) -> None:
        self.configs: Mapping[str, str] = {}
        self.offsets = offsets or StoredOffsets()
        self.woken = threading.Event()

    def wake(self) -> None:
        self.woken.set()

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Committed at once."""
        self.offsets.stored += offsets

    def request_commit(self) -> None:
        """Nothing waits for a commit."""


def started(task: TaskT, config: Mapping[str, str], offsets: StoredOffsets | None = None) -> TaskT:
    """The source task after start(), with these committed offsets."""
    task.context = cast(SourceTaskContext, TaskSourceContext(offsets))
    task.start(config)
    return task


class _Written:
    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> None:
        pass


@dataclass
class DeadLetterList:
    """An ErrantRecordReporter that tolerates every error."""

    reported: list[tuple[SinkRecord, Exception]] = field(default_factory=list)

    def report(self, record: SinkRecord, error: Exception) -> _Written:
        self.reported.append((record, error))
        return _Written()


class TaskSinkContext:
    """A SinkTaskContext; `commits` is set when the task requests a commit, `sought` are offsets of its seeks."""

    def __init__(self, reporter: DeadLetterList | None = None) -> None:
        self.configs: Mapping[str, str] = {}
        self.errant_record_reporter = cast(ErrantRecordReporter | None, reporter)
        self.assignment: frozenset[TopicPartition] = frozenset()
        self.committed: Mapping[TopicPartition, int] = {}
        self.commits = threading.Event()
        self.timeouts: list[Any] = []
        self.lost: Exception | None = None
        self.sought: dict[TopicPartition, int] = {}

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.sought.update(offsets)

    def request_commit(self) -> None:
        self.commits.set()

    def check_ownership(self) -> None:
        """Raises `lost`, if it is set."""
        if self.lost is not None:
            raise self.lost

    def as_context(self) -> SinkTaskContext:
        """Typed as the protocol, of which tasks use only a part."""
        return cast(SinkTaskContext, self)
