"""A source task in this process, from start to stop, and what each of its polls has read."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.record import SourceRecord
from runtime.api.errors import RetriableError
from runtime.api.task import Offset, Partition
from runtime.java.plugins.shared_host import release_objects
from runtime.kafka.formats import canonical
from runtime.pipeline.load import load_task
from runtime.pipeline.source.source_task import SourceContext
from runtime.pipeline.task.async_adapter import implements
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task_forms import as_source
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.position import PartitionProgress, StreamPosition
from runtime.spark.source.conversion import RowConversion

_FIRST_PAUSE = 0.005  # seconds after a first empty poll; doubles up to the task's idle_poll


def progress_of(records: Sequence[SourceRecord]) -> dict[str, PartitionProgress]:
    """The last offset and the number of records of each source partition, by its canonical text."""
    if isinstance(records, SourceBatch):
        partition, count = records.source_partition, len(records)
        return (
            {canonical(partition): PartitionProgress(partition, records.offset_of(count - 1), count)} if count else {}
        )
    progress: dict[str, PartitionProgress] = {}
    last: Any = _NO_PARTITION
    name, count = "", 0
    for record in records:
        if record.source_partition is not last:
            last, name = record.source_partition, canonical(record.source_partition)
            count = progress[name].records if name in progress else 0
        count += 1
        progress[name] = PartitionProgress(last, record.source_offset, count)
    return progress


_NO_PARTITION = object()


class SourceTaskRun:
    """One source task. All methods but stop_soon() and wake() belong to one thread."""

    def __init__(self, connector: SparkConnector, task: PlannedTask, position: StreamPosition) -> None:
        spec = connector.spec(task)
        self.control = TaskControl(False, lambda: None)
        self._config = spec.config
        self._task = as_source(load_task(spec), self.control, str(spec.id))
        self._added: dict[str, PartitionProgress] = {}
        self._lock = threading.Lock()
        self._task.context = SourceContext(
            spec.config, position, self.control.wake, self._add_offsets, lambda: None, None
        )
        self.conversion = RowConversion(
            spec, self.control, (connector.has_converter("key"), connector.has_converter("value"))
        )
        self.reports_records = implements(self._task, "commit_record")
        self._pause = _FIRST_PAUSE
        self.idle = 0.0
        """Seconds waited since records were read. The time of polls does not count: a slow machine is not an idle
        source."""

    def start(self) -> None:
        self._task.start(self._config)

    def poll(self) -> Sequence[SourceRecord]:
        """The records of one poll; none after a RetriableError."""
        try:
            records = self._task.poll()
        except RetriableError:
            return ()
        if records:
            self._pause, self.idle = _FIRST_PAUSE, 0.0
        return records or ()

    def rest(self) -> None:
        """Wait after an empty poll, longer from poll to poll."""
        began = time.monotonic()
        self.control.wait(self._pause)
        self.idle += time.monotonic() - began
        self._pause = min(self._pause * 2, self._task.idle_poll)

    def take_added(self) -> dict[str, PartitionProgress]:
        """The offsets without records that the task has added since the last call."""
        with self._lock:
            taken, self._added = self._added, {}
        return taken

    def committed(self, records: Sequence[SourceRecord]) -> None:
        """Spark has committed these records; they are needed only by tasks that reports_records."""
        for record in records:
            self._task.commit_record(record, None)
        self._task.commit()

    def stop_soon(self) -> None:
        """Ask the task's thread to end. Thread-safe."""
        self.control.stop()

    def stop(self) -> None:
        try:
            self._task.stop()
        finally:
            self.conversion.close()
            release_objects(threading.get_ident(), ended=True)

    def _add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        with self._lock:
            for partition, offset in offsets:
                self._added[canonical(partition)] = PartitionProgress(partition, offset, 0)
