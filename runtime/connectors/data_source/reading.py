"""How the tasks of a data source read its micro-batches, alone or together.

Task 0 plans. It reads a batch with one partition itself; a batch with more partitions is shared:

    task 0   plan ─► commit ─► read its share ─► commit ─► wait until all shares are done ─► plan the next batch
    others           └─ read the plan ─► read their shares ─► commit ─┘

Everything that one task learns from another is a committed offset, so that all of them continue after any crash. A
batch begins when all records of the one before have been committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, OffsetReader, Partition
from runtime.connectors.data_source.chunk_thread import ChunkThread
from runtime.connectors.data_source.micro_batches import BatchPosition
from runtime.connectors.data_source.readers import MicroBatch, MicroBatchReader, ReaderOffset
from runtime.connectors.data_source.shared_batches import SharedBatch, ShareProgress, position_of, share_partition

_log = logging.getLogger(__name__)

_REPEAT = 5.0  # seconds after which the end of a share is committed again
_FIRST_WAIT = 0.005  # seconds
_WAIT_SHARE = 0.1  # of the time waited so far: the next wait


class Shares:
    """The shares of one task in the batches of its data source."""

    def __init__(
        self, reader: MicroBatchReader, source: Partition, offsets: OffsetReader, task: int, tasks: int, interval: float
    ) -> None:
        """`source`: the source partition of the data source. `interval`: longest wait in seconds between two reads of
        offsets."""
        self._reader, self._source, self._offsets = reader, source, offsets
        self._task, self._tasks, self._interval = task, tasks, interval
        self._resumed = True  # offsets of the next batch may be those of an earlier run
        self._ended = 0.0

    def mine(self, plan: SharedBatch) -> Sequence[int]:
        """The shares of this task; several if there are fewer tasks than at the time of the plan."""
        return range(self._task, plan.tasks, self._tasks)

    def read(self, out: ChunkThread, plan: SharedBatch, batch: MicroBatch | None = None) -> None:
        """Reads the shares of this task, and continues those that an earlier run has started. ConnectError if the
        reader's partitions are not those that were planned."""
        if batch is None:
            batch = self._reader.batch(plan.start, plan.end)
        if batch.partitions != plan.partitions:
            raise ConnectError(
                f"The reader returned {batch.partitions} partitions between the offsets {dict(plan.start)} and "
                f"{dict(plan.end)}, and {plan.partitions} when they were planned. Set tasks.max=1, since its "
                "partitions differ between calls, and set the offset to continue from"
            )
        for share in self.mine(plan):
            self._read(out, plan, batch, share)
        self._resumed = False
        self._ended = time.monotonic()

    def repeat(self, out: ChunkThread, plan: SharedBatch) -> None:
        """Commits the end of the shares again if it has not been committed for a long time: during a change of the
        number of tasks, an earlier task may have overwritten it."""
        if time.monotonic() - self._ended < _REPEAT:
            return
        self._ended = time.monotonic()
        progress = self.progress(self.mine(plan)) or ()
        for share, reached in zip(self.mine(plan), progress, strict=False):
            if reached is None or reached.batch != plan.batch or not reached.done:
                self._end(out, plan, share, 0 if reached is None else reached.records)

    def progress(self, shares: Sequence[int]) -> list[ShareProgress | None] | None:
        """The committed progress of shares; None if it cannot be read."""
        offsets = self.committed([share_partition(self._source, share) for share in shares])
        return None if offsets is None else [None if offset is None else ShareProgress.of(offset) for offset in offsets]

    def plan(self) -> SharedBatch | None:
        """The committed plan; None if there is none, or if it cannot be read."""
        offsets = self.committed([self._source])
        if not offsets or offsets[0] is None:
            return None
        position = position_of(offsets[0])
        return position if isinstance(position, SharedBatch) else None

    def committed(self, partitions: Sequence[Partition]) -> list[Offset | None] | None:
        """Committed offsets; None if they cannot be read."""
        try:
            return self._offsets.offsets(partitions)
        except ConnectError as error:
            _log.warning("The offsets of other tasks could not be read, retrying: %s", error)
            return None

    def wait(self, out: ChunkThread, since: float) -> None:
        """Waits before the next read of offsets, longer the longer nothing has changed."""
        out.wait(min(self._interval, max(_FIRST_WAIT, (time.monotonic() - since) * _WAIT_SHARE)))

    def _read(self, out: ChunkThread, plan: SharedBatch, batch: MicroBatch, share: int) -> None:
        done = 0
        if self._resumed:
            earlier = self._earlier(out, share)
            if earlier is not None and earlier.batch == plan.batch:
                if earlier.done:
                    return
                done = earlier.records
        progress, partition = ShareProgress(plan.batch), share_partition(self._source, share)

        def offset_after(count: int, last: bool) -> Offset:
            return progress._replace(records=count, done=last).offset()

        if out.hand_over(batch.rows(share, plan.tasks), done, partition, offset_after):
            out.mark([], True)
        else:
            self._end(out, plan, share, done)

    def _earlier(self, out: ChunkThread, share: int) -> ShareProgress | None:
        since = time.monotonic()
        while (progress := self.progress([share])) is None:
            self.wait(out, since)
        return progress[0]

    def _end(self, out: ChunkThread, plan: SharedBatch, share: int, records: int) -> None:
        progress = ShareProgress(plan.batch, records, True)
        out.mark([(share_partition(self._source, share), progress.offset())], True)


class BatchPlanner:
    """Task 0: plans micro-batches, and reads them alone or shares them."""

    def __init__(
        self,
        reader: MicroBatchReader,
        source: Partition,
        position: BatchPosition | SharedBatch | None,
        shares: Shares,
        tasks: int,
        interval: float,
    ) -> None:
        """`position`: where to begin, None for the reader's initial offset. `interval`: seconds between two questions
        for new data."""
        self._reader, self._source, self._position = reader, source, position
        self._shares, self._tasks, self._interval = shares, tasks, interval
        self._number = 0
        self._unmarked: ReaderOffset | None = None  # the end of the last shared batch

    def read(self, out: ChunkThread) -> None:
        """Reads batch after batch, until an exception ends it."""
        at = self._resume(out)
        while True:
            out.commit_reader()
            end, batch = self._reader.following(at)
            if dict(end) == dict(at):
                self._mark(out, at)
                out.wait(self._interval)
                continue
            batch = self._reader.batch(at, end) if batch is None else batch
            count = min(self._tasks, batch.partitions)
            if count > 1:
                self._share(out, self._numbered(at, end, batch.partitions, count), batch)
            else:
                self._read_alone(out, BatchPosition(at, end), batch)
            at = end

    def _resume(self, out: ChunkThread) -> ReaderOffset:
        """Completes the batch that an earlier run has started; returns its end."""
        position = self._position
        if position is None:
            return self._reader.initial()
        if isinstance(position, SharedBatch):
            self._number = position.batch
            self._complete(out, position, None)
        elif position.end is not None:
            self._read_alone(out, position, self._reader.batch(position.start, position.end))
        return position.start if position.end is None else position.end

    def _numbered(self, start: ReaderOffset, end: ReaderOffset, partitions: int, tasks: int) -> SharedBatch:
        # by the time, so that no number is used again after offsets were altered
        self._number = max(self._number + 1, int(time.time() * 1000))
        return SharedBatch(start, end, self._number, partitions, tasks)

    def _read_alone(self, out: ChunkThread, at: BatchPosition, batch: MicroBatch) -> None:
        assert at.end is not None
        end = BatchPosition(at.end)

        def offset_after(count: int, last: bool) -> Offset:
            return (end if last else at._replace(records=count)).offset()

        self._unmarked = None
        if not out.hand_over(batch.rows(0, 1), at.records, self._source, offset_after):
            out.mark([(self._source, end.offset())], False)

    def _share(self, out: ChunkThread, plan: SharedBatch, batch: MicroBatch) -> None:
        out.mark([(self._source, plan.offset())], True)
        self._complete(out, plan, batch)

    def _complete(self, out: ChunkThread, plan: SharedBatch, batch: MicroBatch | None) -> None:
        """Reads the shares of this task, and waits until all shares have been committed."""
        self._shares.read(out, plan, batch)
        since = time.monotonic()
        while not self._is_done(plan):
            self._shares.repeat(out, plan)
            self._shares.wait(out, since)
        self._unmarked = plan.end

    def _is_done(self, plan: SharedBatch) -> bool:
        progress = self._shares.progress(range(plan.tasks))
        return progress is not None and all(
            share is not None and share.batch == plan.batch and share.done for share in progress
        )

    def _mark(self, out: ChunkThread, at: ReaderOffset) -> None:
        """Replaces the plan of a batch that has been completed while there is no new one."""
        if self._unmarked is not None:
            self._unmarked = None
            out.mark([(self._source, BatchPosition(at).offset())], True)


class ShareReader:
    """Any other task: reads its shares of the batches that task 0 has planned."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares

    def read(self, out: ChunkThread) -> None:
        """Reads share after share, until an exception ends it."""
        since, last = time.monotonic(), 0
        while True:
            plan = self._shares.plan()
            if plan is None or not self._shares.mine(plan):
                pass
            elif plan.batch == last:
                self._shares.repeat(out, plan)
            else:
                self._shares.read(out, plan)
                since, last = time.monotonic(), plan.batch
            self._shares.wait(out, since)
