"""Reads the partitions of a micro-batch on several threads and returns their rows in the order of the partitions."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

_PIECE = 256  # rows that a thread hands over at once
_PIECES = 16  # that wait for each partition


class _PartitionThread:
    """Reads one partition with a copy of the reader, as Spark's executors do."""

    def __init__(self, pickled: bytes, partition: InputPartition) -> None:
        self._pickled, self._partition = pickled, partition
        self._pieces: queue.Queue[list[Any] | BaseException | None] = queue.Queue(_PIECES)
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="data-source-partition", daemon=True).start()

    def rows(self) -> Iterator[Any]:
        """The rows of the partition; raises the reader's error."""
        while (piece := self._pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield from piece

    def end(self) -> None:
        """Makes the thread end soon."""
        self._ended.set()

    def _run(self) -> None:
        from pyspark import cloudpickle

        last: BaseException | None = None
        try:
            rows = iter(cloudpickle.loads(self._pickled).read(self._partition))
            while piece := list(islice(rows, _PIECE)):
                self._put(piece)
        except _EndedError:
            return
        except BaseException as error:  # raised again by rows()
            last = error
        self._put_last(last)

    def _put_last(self, last: BaseException | None) -> None:
        try:
            self._put(last)
        except _EndedError:
            return

    def _put(self, piece: list[Any] | BaseException | None) -> None:
        while not self._ended.is_set():
            try:
                self._pieces.put(piece, timeout=0.1)
                return
            except queue.Full:
                continue
        raise _EndedError


class _EndedError(Exception):
    """Nobody reads the rows any more."""


def in_order(reader: DataSourceStreamReader, partitions: Sequence[InputPartition], threads: int) -> Iterator[Any]:
    """The rows of all partitions; up to `threads` partitions are read at the same time."""
    from pyspark import cloudpickle

    pickled = cloudpickle.dumps(reader)
    running: list[_PartitionThread] = []
    waiting = iter(partitions)
    try:
        running = [_PartitionThread(pickled, partition) for partition in islice(waiting, threads)]
        while running:
            yield from running[0].rows()
            running.pop(0)
            running += [_PartitionThread(pickled, partition) for partition in islice(waiting, 1)]
    finally:
        for thread in running:
            thread.end()
