"""The task of FilesSink. Offsets are committed only up to the first record whose file is not complete."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConnectError, DataError
from runtime.api.task import SinkTask
from runtime.connectors.files.sink.definition import FilesSinkSettings

if TYPE_CHECKING:
    from runtime.connectors.files.sink.assembly import SinkParts
    from runtime.connectors.files.sink.partition_writer import PartitionWriter

_log = logging.getLogger(__name__)
_MOST_PENDING = 4  # closed file sets per upload thread; put() waits beyond it
_COMMIT_WAIT = 2.0  # seconds, less than the default of task.shutdown.graceful.timeout.ms
_CLOSE_WAIT = 30.0  # seconds for which close() waits for files of partitions that another task gets


class FilesSinkTask(SinkTask):
    """Collects records and writes them as files. The name of a file depends on the offset of its first record, and the
    records in a file on their content alone, so that a task that reads records again replaces the same files."""

    takes_batches = True

    def __init__(self, clock: Callable[[], float] = time.monotonic, commit_wait: float = _COMMIT_WAIT) -> None:
        """`clock` in seconds measures `rotate.schedule.interval.ms`; pre_commit() waits for the last files for at most
        `commit_wait` seconds."""
        super().__init__()
        self._clock, self._commit_wait = clock, commit_wait
        self._writers: dict[TopicPartition, PartitionWriter] = {}
        self._parts: SinkParts | None = None

    def start(self, config: Mapping[str, str]) -> None:
        from runtime.connectors.files.sink.assembly import assemble

        self._settings = FilesSinkSettings.of(config)
        self._parts = assemble(
            self._settings, config.get("name", "sink"), self._clock, self._report, self._request_commit,
            self.context.check_ownership,
        )  # fmt: skip

    def put(self, records: Sequence[SinkRecord]) -> None:
        starts = {tp: writer.file_set.start for tp, writer in self._writers.items() if writer.file_set is not None}
        try:
            self._take(records)
        except Exception:  # the worker commits the offsets before this put once more
            for tp, writer in self._writers.items():
                writer.fail(starts.get(tp))
            raise

    def _take(self, records: Sequence[SinkRecord]) -> None:
        from runtime.connectors.files.sink.chunk import chunks

        if len(records):
            if self._settings.null_fails:
                self._refuse_nulls(records)
            added, skipped = set[TopicPartition](), set[TopicPartition]()
            for chunk in chunks(records):
                writer = self._writers.get(chunk.tp)
                if writer is None:
                    assert self._parts is not None
                    writer = self._writers[chunk.tp] = self._parts.writer(chunk.tp)
                if chunk.tp in skipped or not writer.follows(chunk, chunk.tp in added):
                    skipped.add(chunk.tp)
                    self._rewind(chunk.tp, writer)
                else:
                    writer.append(chunk)
                    added.add(chunk.tp)
            for tp in added:
                self._writers[tp].close_full()
            self._limit_memory()
            self._limit_pending()
        self._close_due()

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._close_due()
        self._await_last_files(offsets)
        allowed = dict(offsets)
        for tp in offsets:
            writer = self._writers.get(tp)
            uncommitted = None if writer is None else writer.uncommitted
            if uncommitted is not None:
                allowed[tp] = min(uncommitted, offsets[tp])
        return allowed

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Drops open files, whose records another task reads again, and waits for those that are being written, so that
        they cannot replace newer ones."""
        deadline = time.monotonic() + _CLOSE_WAIT
        for tp in partitions:
            writer = self._writers.pop(tp, None)
            if writer is None:
                continue
            writer.discard()
            for pending in writer.pending:
                pending.wait(max(deadline - time.monotonic(), 0))
            writer.owner.release()

    def stop(self) -> None:
        for writer in self._writers.values():
            writer.discard()
        if self._parts is not None:
            self._parts.uploads.stop()

    def _refuse_nulls(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            if record.value is None:
                self._report(record, DataError("The value is null (behavior.on.null.values=fail)"))

    def _report(self, record: SinkRecord, error: Exception) -> None:
        """Reports a record that cannot be stored, or fails the task if errors are not reported."""
        tp = TopicPartition(record.original_topic, record.original_kafka_partition)
        place = f"{tp.topic}-{tp.partition} at offset {record.original_kafka_offset}"
        described = DataError(f"Record of {place} cannot be stored as {self._settings.format}: {error}")
        described.__cause__ = error
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise described
        reporter.report(record, described)

    def _rewind(self, tp: TopicPartition, writer: PartitionWriter) -> None:
        """The worker has gone back to an offset within the open file set: read the file set again from its start."""
        start = writer.restart()
        _log.warning("%s-%d was read again from within an open file; reading it from offset %d", *tp, start)
        self.context.seek({tp: start})

    def _await_last_files(self, partitions: Iterable[TopicPartition]) -> None:
        """Waits for a moment for files behind which no others are open: this may be the last commit of a task, and what
        it does not commit is read and written again."""
        deadline = time.monotonic() + self._commit_wait
        for tp in partitions:
            writer = self._writers.get(tp)
            if writer is not None and writer.file_set is None:
                for pending in writer.pending:
                    pending.wait(max(deadline - time.monotonic(), 0))

    def _limit_memory(self) -> None:
        limit = self._settings.buffer_bytes
        while (used := sum(writer.memory for writer in self._writers.values())) > limit and used:
            max(self._writers.values(), key=lambda writer: writer.memory).spill()

    def _limit_pending(self) -> None:
        """Waits if files are written more slowly than records arrive."""
        limit = _MOST_PENDING * self._settings.upload_threads
        pending = [file_set for writer in self._writers.values() for file_set in writer.pending if not file_set.done]
        for file_set in pending[: max(len(pending) - limit, 0)]:
            file_set.wait()

    def _close_due(self) -> None:
        """Ends the file sets whose time is over, and has put() called when the time of the next one is over."""
        if self._settings.rotate_schedule is None:
            return
        now, interval = self._clock(), self._settings.rotate_schedule
        left: list[float] = []
        for writer in self._writers.values():
            if writer.file_set is None:
                continue
            due = writer.file_set.opened + interval - now
            if due <= 0:
                writer.close_cut(by_clock=True)
            else:
                left.append(due)
        self.idle_put = min(left, default=None)

    def _request_commit(self) -> None:
        """Makes the worker call pre_commit() soon; called in any thread."""
        try:
            self.context.request_commit()
        except ConnectError as error:  # the task is being stopped
            _log.debug("No commit requested: %s", error)
