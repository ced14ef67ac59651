"""Reads micro-batches on a thread of its own and hands their rows over in chunks."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from typing import Any, NamedTuple

from runtime.connectors.data_source.micro_batches import BatchPosition
from runtime.connectors.data_source.readers import MicroBatchReader, ReaderOffset

_log = logging.getLogger(__name__)
_WAITING = 4  # chunks


class RowChunk(NamedTuple):
    """Some rows of a micro-batch: their number (`size`), the position before the first and after the last."""

    columns: Sequence[Sequence[Any]]
    size: int
    before: BatchPosition
    after: BatchPosition


class _StoppedError(Exception):
    """The task is being stopped."""


class ChunkThread:
    """Calls a reader, whose methods may take any time, without blocking the task."""

    def __init__(self, reader: MicroBatchReader, position: BatchPosition | None, size: int, interval: float) -> None:
        """`position`: where to begin, None for the reader's initial offset. `size`: rows of a chunk. `interval`:
        seconds between two questions for new data."""
        self._reader, self._position = reader, position
        self._size, self._interval = size, interval
        self._chunks: queue.Queue[RowChunk | BaseException] = queue.Queue(_WAITING)
        self._stopped = threading.Event()
        self._committed: ReaderOffset | None = None
        context = copy_context()  # log lines carry the task's name
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="data-source", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> RowChunk | None:
        """The next chunk; None if there is none within this time. Raises the reader's error."""
        try:
            found = self._chunks.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        return found

    def commit(self, end: ReaderOffset) -> None:
        """Tells the reader soon that everything before `end` has been stored."""
        self._committed = end

    def stop(self, seconds: float) -> None:
        """Ends the thread; waits for it up to this time."""
        self._stopped.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self._read_all()
        except _StoppedError:
            pass
        except BaseException as error:  # raised again on the task's thread
            self._hand_over_error(error)
        finally:
            self._stop_reader()

    def _read_all(self) -> None:
        at = self._position if self._position is not None else BatchPosition(self._reader.initial())
        if at.end is not None:
            at = self._batch(at, self._reader.rows(at.start, at.end))
        while True:
            self._commit_reader()
            end, rows = self._reader.following(at.start)
            if dict(end) == dict(at.start):
                if self._stopped.wait(self._interval):
                    raise _StoppedError
                continue
            at = self._batch(BatchPosition(at.start, end), self._reader.rows(at.start, end) if rows is None else rows)

    def _batch(self, at: BatchPosition, rows: Iterator[Any]) -> BatchPosition:
        """Hands the rows of a micro-batch over, after those that have been read already. The position after it."""
        assert at.end is not None
        end = BatchPosition(at.end)
        pieces = _pieces(rows, self._size, at.records)
        piece = next(pieces, None)
        while piece is not None:
            following = next(pieces, None)
            count = len(piece[0]) if piece else 0
            after = end if following is None else at._replace(records=at.records + count)
            self._put(RowChunk(piece, count, at, after))
            self._commit_reader()
            at, piece = after, following
        return end

    def _put(self, item: RowChunk | BaseException) -> None:
        while not self._stopped.is_set():
            try:
                self._chunks.put(item, timeout=0.1)
                return
            except queue.Full:
                continue
        raise _StoppedError

    def _hand_over_error(self, error: BaseException) -> None:
        try:
            self._put(error)
        except _StoppedError:
            return

    def _commit_reader(self) -> None:
        if self._stopped.is_set():
            raise _StoppedError
        committed, self._committed = self._committed, None
        if committed is not None:
            self._reader.commit(committed)

    def _stop_reader(self) -> None:
        try:
            self._reader.stop()
        except Exception:
            _log.exception("The reader's stop() failed")


def _pieces(rows: Iterator[Any], size: int, skip: int) -> Iterator[list[Sequence[Any]]]:
    """The rows as lists of columns with up to `size` rows, without the first `skip`."""
    waiting: list[Any] = []
    for item in rows:
        if hasattr(item, "to_pylist") or hasattr(item, "to_pydict"):  # an Arrow record batch
            if waiting:
                yield _columns(waiting)
                waiting = []
            first = min(skip, item.num_rows)
            skip -= first
            for start in range(first, item.num_rows, size):
                part = item.slice(start, size)
                yield [column.to_pylist() for column in part.columns]
            continue
        if skip:
            skip -= 1
            continue
        waiting.append(item)
        if len(waiting) >= size:
            yield _columns(waiting)
            waiting = []
    if waiting:
        yield _columns(waiting)


def _columns(rows: list[Any]) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True))
