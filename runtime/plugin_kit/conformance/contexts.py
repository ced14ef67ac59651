"""Contexts of connectors and tasks without a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import Offset, Partition, TransactionContext
from runtime.kafka.formats import canonical


class KitOffsets:
    """An OffsetReader of offsets that are kept in memory."""

    def __init__(self, offsets: Mapping[str, Offset] | None = None) -> None:
        """`offsets` by the canonical text of their partitions."""
        self._offsets = dict(offsets or {})

    def offset(self, partition: Partition) -> Offset | None:
        return self._offsets.get(canonical(partition))

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        return [self.offset(partition) for partition in partitions]


@dataclass(slots=True)
class KitConnectorContext:
    """A SourceConnectorContext that records what the connector requests."""

    errors: list[Exception] = field(default_factory=list)
    offsets: KitOffsets = field(default_factory=KitOffsets)

    def request_task_reconfiguration(self) -> None:
        """Ignored: the suite runs the task configurations of the first call."""

    def raise_error(self, error: Exception) -> None:
        self.errors.append(error)


@dataclass(frozen=True, slots=True)
class KitSourceContext:
    """A SourceTaskContext."""

    configs: Mapping[str, str]
    offsets: KitOffsets
    wake: Callable[[], None]
    transactions: TransactionContext | None = None

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Not kept: the checks read the offsets of records."""

    def request_commit(self) -> None:
        """The checks decide what has been committed."""


class _Written:
    """A report that has been written."""

    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> None:
        return None


@dataclass(slots=True)
class KitReporter:
    """An ErrantRecordReporter that keeps the reports."""

    reports: list[tuple[SinkRecord, Exception]] = field(default_factory=list)

    def report(self, record: SinkRecord, error: Exception) -> _Written:
        self.reports.append((record, error))
        return _Written()


@dataclass(slots=True)
class KitSinkContext:
    """A SinkTaskContext that records requests."""

    configs: Mapping[str, str]
    assignment: frozenset[TopicPartition]
    errant_record_reporter: KitReporter | None = None
    requests: list[tuple[str, Any]] = field(default_factory=list)
    committed: dict[TopicPartition, int] = field(default_factory=dict)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.requests.append(("seek", dict(offsets)))

    def pause(self, *partitions: TopicPartition) -> None:
        self.requests.append(("pause", partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self.requests.append(("resume", partitions))

    def request_commit(self) -> None:
        self.requests.append(("commit", None))

    def check_ownership(self) -> None:
        """The task always owns its partitions."""

    def timeout(self, seconds: float) -> None:
        self.requests.append(("timeout", seconds))
