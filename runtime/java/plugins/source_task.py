"""Java source tasks as SourceTask."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from runtime.api.data.batch import SourceBatch
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.api.task import OffsetReader, RecordMetadata, SourceTask
from runtime.java.errors import HostLostError
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.plugins.started import StartedPlugin
from runtime.java.wire.reader import FrameReader
from runtime.java.wire.records import RecordColumns, in_order, read_groups, source_batch, source_records

_END = -1  # the place that stands for the end of a batch


class JavaSourceRecord(SourceRecord):
    """A record that knows its place in a poll, for commit_record()."""

    __slots__ = ("batch", "place")

    batch: int
    place: int


class JavaSourceTask(StartedPlugin, SourceTask):
    """A Java source task. Polls whose records share schemas and a source partition are batches."""

    reuses_records: ClassVar[bool] = False

    def __new__(cls, host: JavaHost, plugin: JavaClass, thread: str = "task") -> JavaSourceTask:
        """Creates the Java object, since the way in which records are sent depends on it: see ReportingJavaSourceTask.
        Raises the exception of its constructor, or HostLostError."""
        made: JavaSourceTask
        calls = _ContextCalls()
        plugin_task = host.create("source_task", plugin, thread, calls)
        made = object.__new__(_reporting(cls) if plugin_task.reports else cls)
        made.plugin = made.metrics_owner = plugin_task
        made._calls = calls
        return made

    metrics_owner: PluginObject
    _calls: _ContextCalls

    def __init__(self, host: JavaHost, plugin: JavaClass, thread: str = "task") -> None:
        super().__init__()
        self._polls_ahead = False

    def start(self, config: Mapping[str, str]) -> None:
        self._calls.task = self
        self.plugin.call("start", dict(config), self.context.transactions is not None)
        observes = self.plugin.reports or self.plugin.commits or self.context.transactions is not None
        self._polls_ahead = not observes

    def poll(self) -> Sequence[SourceRecord] | None:
        """While the records of a poll are sent, the next poll is under way, unless the task observes commits or
        transactions."""
        link = self.plugin.link
        facts, frame = link.collect() if link.posted else link.exchange("poll")
        count, batch, *requests = facts
        if count and self._polls_ahead:
            link.post(link.prepare("poll"))
        records = self._records(frame, count, batch) if count else []
        if requests:
            self._request(records, requests)
        return records

    def commit(self) -> None:
        if self.plugin.commits:
            self.plugin.call("commit")

    def interrupt(self) -> None:
        """Interrupt the call that is running in the JVM; it raises HostLostError here. On any thread."""
        self.plugin.close()

    def _records(self, frame: FrameReader, count: int, batch: int) -> Sequence[SourceRecord]:
        groups, group_of = read_groups(frame, count)
        uniform: SourceBatch | None = source_batch(groups[0]) if len(groups) == 1 else None
        return uniform or in_order([source_records(group) for group in groups], group_of)

    def _request(self, records: Sequence[SourceRecord], requests: Sequence[Any]) -> None:
        """Ends of transactions that the task has requested during poll()."""
        transactions = self.context.transactions
        if transactions is None:
            return
        for place, is_commit in zip(requests[::2], requests[1::2], strict=True):
            request = transactions.commit if is_commit else transactions.abort
            request(None if place == _END else records[place])


class ReportingJavaSourceTask(JavaSourceTask):
    """A Java source task whose commitRecord() does something. Its records are sent one by one."""

    def __init__(self, host: JavaHost, plugin: JavaClass, thread: str = "task") -> None:
        super().__init__(host, plugin, thread)
        self._reports: list[tuple[JavaSourceRecord, RecordMetadata | None]] = []

    def poll(self) -> Sequence[SourceRecord] | None:
        self._report()
        return super().poll()

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Reports go to the JVM together, before its next call."""
        self._reports.append((cast("JavaSourceRecord", record), metadata))

    def commit(self) -> None:
        self._report()
        super().commit()

    def stop(self) -> None:
        with contextlib.suppress(HostLostError):
            self._report()
        super().stop()

    def _report(self) -> None:
        if not self._reports:
            return
        records = [record for record, _ in self._reports]
        known = [metadata for _, metadata in self._reports]
        self._reports = []
        self.plugin.call(
            "records",
            [record.batch for record in records],
            [record.place for record in records],
            [None if sent is None else sent.topic for sent in known],
            [None if sent is None else sent.partition for sent in known],
            [None if sent is None else sent.offset for sent in known],
            [None if sent is None else sent.timestamp for sent in known],
            [None if sent is None else sent.serialized_key_size for sent in known],
            [None if sent is None else sent.serialized_value_size for sent in known],
        )

    def _records(self, frame: FrameReader, count: int, batch: int) -> Sequence[SourceRecord]:
        groups, group_of = read_groups(frame, count)
        records = in_order([_placed(group) for group in groups], group_of)
        for place, record in enumerate(records):
            record.batch, record.place = batch, place
        return records


def _placed(group: RecordColumns) -> list[JavaSourceRecord]:
    return [
        JavaSourceRecord(
            record.source_partition,
            record.source_offset,
            record.topic,
            record.value,
            record.value_schema,
            record.key,
            record.key_schema,
            record.kafka_partition,
            record.timestamp,
            record.headers,
        )
        for record in source_records(group)
    ]


def _reporting(cls: type[JavaSourceTask]) -> type[JavaSourceTask]:
    """The class itself with the methods of ReportingJavaSourceTask before its own base."""
    if issubclass(cls, ReportingJavaSourceTask) or cls is JavaSourceTask:
        return ReportingJavaSourceTask
    return type(cls.__name__, (cls, ReportingJavaSourceTask), {"__module__": cls.__module__})


class _ContextCalls:
    """Answers the calls of the Java task's context."""

    task: JavaSourceTask | None = None

    def __call__(self, name: str, argument: Any) -> Any:
        task = self.task
        if task is None:
            raise ConnectError("The task has not been started")
        if name == "offsets":
            return read_offsets(task.context.offsets, argument)
        if name == "transaction" and task.context.transactions is not None:
            return task.context.transactions.commit() if argument else task.context.transactions.abort()
        raise ConnectError(f"{name} is not available to a source task")


def read_offsets(reader: OffsetReader, partitions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The committed offsets, as plain values."""
    return [None if offset is None else dict(offset) for offset in reader.offsets(partitions)]
