"""Runs an async source task: poll() stays pending on the task's event loop while the worker commits or is paused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.task import Offset, OffsetReader, Partition, RecordMetadata, SourceTask, SourceTaskContext
from runtime.pipeline.task.async_adapter import AsyncAdapter
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.event_loop import Call, TaskLoop

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord
    from runtime.api.task import TransactionContext
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_PATIENCE = 0.005  # seconds for which a new poll() is waited for before the source counts as idle
_PENDING = 10.0  # maximum seconds between two checks of a pending poll(), which otherwise wakes the worker
_SLICE = 0.1  # seconds of one wait for a blocked event loop


class AsyncSourceAdapter(SourceTask, AsyncAdapter):
    """An async source task as the worker sees it: poll() returns None while the plugin's poll() is pending."""

    def __init__(self, plugin: Any, control: TaskControl, name: str) -> None:
        self.plugin, self._control, self._loop = plugin, control, TaskLoop(control, name)
        vars(self).update(reuses_records=plugin.reuses_records, timestamps_are_now=plugin.timestamps_are_now)
        self._pending: Call | None = None
        self._probe: Call | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.plugin.context = AsyncSourceContext(self.context)
        self._loop.call(self.plugin.start, config, cancel_on_stop=True)

    def poll(self) -> Sequence[SourceRecord] | None:
        call = self._pending
        if call is None:
            call = self._pending = self._loop.begin(self.plugin.poll, cancel_on_stop=True)
            call.wait(_PATIENCE)
            if not call.done:
                call.future.add_done_callback(lambda _: self.context.wake())
        if not call.done:
            self._check_loop()
            self.idle_poll = _PENDING
            return None
        self._pending = None
        try:
            records: Sequence[SourceRecord] | None = self._loop.result(call)
        except StoppedError:
            return None
        self.idle_poll = self.plugin.idle_poll
        return records

    def commit(self) -> None:
        self._loop.call(self.plugin.commit)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.commit_records([(record, metadata)])

    def commit_records(self, reports: Sequence[tuple[SourceRecord, RecordMetadata | None]]) -> None:
        """Call commit_record() for each record; its exceptions are logged."""
        self._loop.call(self._commit_each, reports)

    async def _commit_each(self, reports: Sequence[tuple[SourceRecord, RecordMetadata | None]]) -> None:
        for record, metadata in reports:
            try:
                if (waits := self.plugin.commit_record(record, metadata)) is not None:
                    await waits
            except Exception:  # third-party code
                _log.exception("The task's commit_record() failed; the record is committed nevertheless")

    def stop(self) -> None:
        try:
            if (call := self._pending) is not None:
                self._loop.cancel(call)
                call.wait(_PENDING)
            self._loop.call(self.plugin.stop)
        finally:
            self._loop.close()

    def _check_loop(self) -> None:
        """Wait while a call blocks the event loop, so that the watchdog notices a task that is stuck."""
        if self._probe is not None and not self._probe.done:
            while not self._probe.done and not self._control.stopping:
                self._probe.wait(_SLICE)
        self._probe = self._loop.begin(_nothing)


class AsyncSourceContext:
    """The AsyncSourceTaskContext of a task."""

    def __init__(self, context: SourceTaskContext) -> None:
        self._context = context
        self.offsets = AsyncOffsets(context.offsets)

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration."""
        return self._context.configs

    @property
    def transactions(self) -> TransactionContext | None:
        """The transactions of the task."""
        return self._context.transactions

    def wake(self) -> None:
        """Make the worker call poll() immediately."""
        self._context.wake()

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Commit offsets that no record has."""
        self._context.add_offsets(offsets)

    def request_commit(self) -> None:
        """Commit offsets soon."""
        self._context.request_commit()


class AsyncOffsets:
    """The AsyncOffsetReader of a task: reads on another thread."""

    def __init__(self, reader: OffsetReader) -> None:
        self._reader = reader

    async def offset(self, partition: Partition) -> Offset | None:
        """The committed offset of a source partition; None if it has none."""
        return await asyncio.to_thread(self._reader.offset, partition)

    async def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The committed offset of each of these source partitions, in their order."""
        return await asyncio.to_thread(self._reader.offsets, partitions)


def _nothing() -> None:
    """Returns as soon as the event loop runs it."""
