"""Java sink tasks as SinkTask."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from runtime.api.data.batch import SinkBatch
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConnectError
from runtime.api.task import OffsetAndMetadata, PendingReport, SinkTask
from runtime.java.errors import java_error
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.host.link import Prepared
from runtime.java.plugins.started import StartedPlugin
from runtime.java.wire.records import write_sink

_Offsets = Mapping[TopicPartition, int]


class JavaSinkTask(StartedPlugin, SinkTask):
    """A Java sink task."""

    takes_batches: ClassVar[bool] = True
    empty_puts: ClassVar[bool] = True

    def __init__(self, host: JavaHost, plugin: JavaClass, thread: str = "task") -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        super().__init__()
        self.metrics_owner = self.plugin = host.create("sink_task", plugin, thread, self._context_call)
        self._put = _PutRecords()
        self._reports = _Reports()
        self._reporting = False

    def start(self, config: Mapping[str, str]) -> None:
        self._reporting = self.context.errant_record_reporter is not None
        self.plugin.call("start", dict(config), self._reporting)

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.begin_put(self.prepare_put(records))
        self.end_put()

    def prepare_put(self, records: Sequence[SinkRecord]) -> _PreparedPut:
        """See RemoteSinkTask."""
        number = self._put.number() if self._reporting and len(records) else 0
        call = self.plugin.link.prepare("put", number, batch=lambda frame: write_sink(frame, records))
        return _PreparedPut(call, number, records)

    def begin_put(self, prepared: _PreparedPut) -> None:
        """Begin put() in the JVM."""
        if prepared.number:
            self._put.add(prepared.number, prepared.records)
        self.plugin.link.post(prepared.call)

    def end_put(self) -> None:
        """Wait for put(). Raises its error."""
        collected, _ = self.plugin.link.collect()
        if collected:
            self._put.release(collected)

    def pre_commit(self, offsets: _Offsets) -> _Offsets:
        given = [[*partition, offset] for partition, offset in offsets.items()]
        safe = {
            TopicPartition(topic, partition): OffsetAndMetadata(offset, metadata) if metadata else offset
            for topic, partition, offset, metadata in self.plugin.call("pre_commit", given)
        }
        if self._reporting:
            self._put.forget(safe)
        return safe

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.plugin.call("open", list(map(list, partitions)))

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.plugin.call("close", list(map(list, partitions)))

    def interrupt(self) -> None:
        """Interrupt the call that is running in the JVM; it raises HostLostError here. On any thread."""
        self.plugin.close()

    def _context_call(self, name: str, argument: Any) -> Any:
        context = self.context
        if name == "seek":
            context.seek({TopicPartition(topic, partition): offset for topic, partition, offset in argument})
        elif name == "pause":
            context.pause(*(TopicPartition(*pair) for pair in argument))
        elif name == "resume":
            context.resume(*(TopicPartition(*pair) for pair in argument))
        elif name == "timeout":
            if argument > 0:  # as in Connect, where others have no effect
                context.timeout(argument / 1000)
        elif name == "request_commit":
            context.request_commit()
        elif name == "report":
            return self._report(*argument)
        elif name == "report_done":
            return self._reports.is_done(argument)
        elif name == "report_result":
            return self._reports.is_settled(*argument)
        elif name in ("group_metadata", "committed", "position"):
            return self._consumer_call(name, argument)
        else:
            raise ConnectError(f"{name} is not available to a sink task")
        return None

    def _consumer_call(self, name: str, argument: Any) -> Any:
        group = getattr(self.context, "group", None)
        if group is None:
            raise ConnectError(f"{name} needs the consumer of a worker's sink task")
        if name == "group_metadata":
            return list(group.metadata())
        partitions = [TopicPartition(*pair) for pair in argument]
        if name == "position":
            return group.position(partitions[0])
        return [[*tp, int(offset), offset.metadata] for tp, offset in group.committed(partitions).items()]

    def _report(self, batch: int | list[Any], place: int | None, error: list[Any]) -> int:
        """`batch` and `place` of a record, or its position in Kafka if the task has created it."""
        reporter = self.context.errant_record_reporter
        if isinstance(batch, list):
            topic, partition, offset = batch
            record = self._put.at(TopicPartition(topic, partition), offset)
        else:
            record = self._put.record(batch, place or 0)
        if reporter is None or record is None:
            raise ConnectError(
                "The record cannot be reported any more: its offset has been committed, "
                "or the task does not hold it any more"
            )
        return self._reports.add(reporter.report(record, java_error(error)))


class _PreparedPut(NamedTuple):
    """A put that may be dropped. The number is 0 if records are not reported."""

    call: Prepared
    number: int
    records: Sequence[SinkRecord]


class _PutRecords:
    """The records that may still be reported: their offsets have not been committed, and the task holds a record of
    their batch. A task may also create a record for a report; for these the last batches are kept in any case."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._batches: dict[int, Sequence[SinkRecord]] = {}
        self._ends: dict[int, dict[TopicPartition, int]] = {}
        self._released: dict[int, None] = {}

    def number(self) -> int:
        """The number of another batch."""
        return next(self._numbers)

    def add(self, number: int, records: Sequence[SinkRecord]) -> None:
        """Keep a batch that is going to be put."""
        self._batches[number], self._ends[number] = records, _ends(records)

    def record(self, batch: int, place: int) -> SinkRecord | None:
        """A record; None if it has been forgotten."""
        records = self._batches.get(batch)
        return None if records is None else records[place]

    def at(self, partition: TopicPartition, offset: int) -> SinkRecord | None:
        """The record that was read from this position; None if it has been forgotten."""
        for number, ends in list(self._ends.items()):  # the task's thread may add batches meanwhile
            if ends.get(partition, -1) >= offset:
                for record in self._batches.get(number, ()):
                    tp = TopicPartition(record.original_topic, record.original_kafka_partition)
                    if tp == partition and record.original_kafka_offset == offset:
                        return record
        return None

    def forget(self, committed: _Offsets) -> None:
        """Forget batches all of whose offsets are committed."""
        for number, ends in list(self._ends.items()):
            if all(committed.get(partition, -1) > last for partition, last in ends.items()):
                self._remove(number)

    def release(self, numbers: Sequence[int]) -> None:
        """Forget batches whose records the JVM has collected, except the last ones."""
        self._released.update((number, None) for number in numbers if number in self._batches)
        while len(self._released) > _KEPT_BATCHES:
            self._remove(next(iter(self._released)))

    def _remove(self, number: int) -> None:
        del self._ends[number], self._batches[number]
        self._released.pop(number, None)


def _ends(records: Sequence[SinkRecord]) -> dict[TopicPartition, int]:
    """The last offset in each partition."""
    if isinstance(records, SinkBatch):
        topic = records.messages[0].topic()
        return {TopicPartition(topic, partition): offset for partition, offset in records.last_offsets().items()}
    return {TopicPartition(r.original_topic, r.original_kafka_partition): r.original_kafka_offset for r in records}


class _Reports:
    """Reports whose result the task may ask for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pending: dict[int, PendingReport] = {}

    def add(self, report: PendingReport) -> int:
        """The number of a report."""
        with self._lock:
            number = next(self._numbers)
            self._pending[number] = report
            if number % _PRUNE == 0:
                self._pending = {key: future for key, future in self._pending.items() if not future.done()}
            return number

    def is_done(self, number: int) -> bool:
        """Whether a report has been written or has failed."""
        report = self._pending.get(number)
        return report is None or report.done()

    def is_settled(self, number: int, timeout: float | None) -> bool:
        """Waits for a report; False if it takes longer. ConnectError if it could not be written."""
        report = self._pending.get(number)
        if report is None:
            return True
        try:
            report.result(timeout)
        except TimeoutError:
            return False
        return True


_PRUNE = 1000
_KEPT_BATCHES = 20
