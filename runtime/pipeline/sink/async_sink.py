"""Runs an async sink task: the worker waits for each call on the task's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import ErrantRecordReporter, SinkTask, SinkTaskContext
from runtime.pipeline.task.async_adapter import AsyncAdapter
from runtime.pipeline.task.event_loop import TaskLoop

if TYPE_CHECKING:
    from runtime.pipeline.task.control import TaskControl


class AsyncSinkAdapter(SinkTask, AsyncAdapter):
    """An async sink task as the worker sees it."""

    def __init__(self, plugin: Any, control: TaskControl, name: str) -> None:
        self.plugin, self._loop = plugin, TaskLoop(control, name)
        vars(self).update(takes_batches=plugin.takes_batches)

    def start(self, config: Mapping[str, str]) -> None:
        self.plugin.context = AsyncSinkContext(self.context)
        self._loop.call(self.plugin.start, config, cancel_on_stop=True)
        self.idle_put = self.plugin.idle_put

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._loop.call(self.plugin.put, records)
        self.idle_put = self.plugin.idle_put

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._loop.call(self.plugin.flush, offsets)

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        allowed = self._loop.call(self.plugin.pre_commit, offsets)
        return cast("Mapping[TopicPartition, int]", allowed)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._loop.call(self.plugin.open, partitions)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._loop.call(self.plugin.close, partitions)

    def stop(self) -> None:
        try:
            self._loop.call(self.plugin.stop)
        finally:
            self._loop.close()


class AsyncSinkContext:
    """The AsyncSinkTaskContext of a task."""

    def __init__(self, context: SinkTaskContext) -> None:
        self.seek, self.pause, self.resume = context.seek, context.pause, context.resume
        self.request_commit, self.timeout = context.request_commit, context.timeout
        self.check_ownership = context.check_ownership
        self._context = context
        reporter = context.errant_record_reporter
        self.errant_record_reporter = None if reporter is None else AsyncReporter(reporter)

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration."""
        return self._context.configs

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._context.assignment


class AsyncReporter:
    """The AsyncErrantRecordReporter of a task: reports on another thread, since a report may wait for Kafka."""

    def __init__(self, reporter: ErrantRecordReporter) -> None:
        self._reporter = reporter

    async def report(self, record: SinkRecord, error: Exception) -> None:
        """Log the record and write it to the dead letter topic, as configured."""
        await asyncio.to_thread(self._reporter.report, record, error)
