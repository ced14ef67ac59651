"""Reads micro-batches on a thread of its own and hands their rows over in chunks."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, NamedTuple

from runtime.api.task import Offset, Partition
from runtime.connectors.data_source.columns import column_pieces
from runtime.connectors.data_source.readers import MicroBatchReader, ReaderOffset, Rows

_log = logging.getLogger(__name__)
_WAITING = 4  # chunks


class RowChunk(NamedTuple):
    """Some rows of a source partition. `offset_of(n)`: the source offset after the n-th row, counted from 0."""

    columns: Sequence[Sequence[Any]]
    size: int
    partition: Partition
    offset_of: Callable[[int], Offset]


class OffsetMark(NamedTuple):
    """Offsets that no row has, after the rows before. `soon`: the next step waits for their commit."""

    offsets: Sequence[tuple[Partition, Offset]]
    soon: bool


class _StoppedError(Exception):
    """The task is being stopped."""


class ChunkThread:
    """Calls a reader, whose methods may take any time, without blocking the task. The methods of the second part are
    called on the thread itself, by `read`; they raise an exception that `read` must not catch when the task stops."""

    def __init__(
        self,
        reader: MicroBatchReader,
        read: Callable[[ChunkThread], None],
        names: Sequence[str],
        size: int,
        wake: Callable[[], None],
    ) -> None:
        """`read` decides what is read, until an exception ends it. `names` of the columns; `size`: rows of a chunk.
        `wake` is called when there is a chunk or a mark."""
        self._reader, self._read, self._names, self._size, self._wake = reader, read, names, size, wake
        self._items: queue.Queue[RowChunk | OffsetMark | BaseException] = queue.Queue(_WAITING)
        self._stopped = threading.Event()
        self._committed: ReaderOffset | None = None
        context = copy_context()  # log lines carry the task's name
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="data-source", daemon=True)
        self._thread.start()

    def next(self) -> RowChunk | OffsetMark | None:
        """The next chunk or mark; None if there is none yet. Raises the reader's error."""
        try:
            item = self._items.get_nowait()
        except queue.Empty:
            return None
        if isinstance(item, BaseException):
            raise item
        return item

    def commit(self, end: ReaderOffset) -> None:
        """Tells the reader soon that everything before `end` has been stored."""
        self._committed = end

    def stop(self, seconds: float) -> None:
        """Ends the thread; waits for it up to this time."""
        self._stopped.set()
        self._thread.join(seconds)

    # For `read`

    def hand_over(
        self, rows: Rows, skip: int, partition: Partition, offset_after: Callable[[int, bool], Offset]
    ) -> bool:
        """Hands rows over, without the first `skip`; returns whether there were any. `offset_after(count, last)`: the
        source offset after `count` rows, `last` if there are no more."""
        pieces = column_pieces(rows, self._names, self._size, skip)
        piece, has_rows = next(pieces, None), False
        while piece is not None:
            following = next(pieces, None)
            size = len(piece[0]) if piece else 0
            self._put(RowChunk(piece, size, partition, _offsets(offset_after, skip, size, following is None)))
            self.commit_reader()
            skip, piece, has_rows = skip + size, following, True
        return has_rows

    def mark(self, offsets: Sequence[tuple[Partition, Offset]], soon: bool) -> None:
        """Hands offsets over that no row has."""
        self._put(OffsetMark(offsets, soon))

    def wait(self, seconds: float) -> None:
        """Waits, and tells the reader what has been committed."""
        if self._stopped.wait(seconds):
            raise _StoppedError
        self.commit_reader()

    def commit_reader(self) -> None:
        """Tells the reader what has been committed."""
        if self._stopped.is_set():
            raise _StoppedError
        committed, self._committed = self._committed, None
        if committed is not None:
            self._reader.commit(committed)

    def _run(self) -> None:
        try:
            self._read(self)
        except _StoppedError:
            pass
        except BaseException as error:  # raised again on the task's thread
            self._hand_over_error(error)
        finally:
            self._stop_reader()

    def _put(self, item: RowChunk | OffsetMark | BaseException) -> None:
        while not self._stopped.is_set():
            try:
                self._items.put(item, timeout=0.1)
            except queue.Full:
                continue
            self._wake()
            return
        raise _StoppedError

    def _hand_over_error(self, error: BaseException) -> None:
        try:
            self._put(error)
        except _StoppedError:
            return

    def _stop_reader(self) -> None:
        try:
            self._reader.stop()
        except Exception:  # third-party code
            _log.exception("The reader's stop() failed")


def _offsets(offset_after: Callable[[int, bool], Offset], first: int, size: int, last: bool) -> Callable[[int], Offset]:
    return lambda n: offset_after(first + n + 1, last and n == size - 1)
