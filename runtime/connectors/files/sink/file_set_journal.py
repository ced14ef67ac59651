"""Remembers where the clock ended file sets, so that a task that reads the records again ends them at the same offsets.

Without it, a task that is killed after it has written files and before their offsets are committed would divide the
records differently, and files of the first attempt that the second does not replace would repeat records. The journal
of a partition is a small file beside the data. It is written before the files of a file set that the clock has ended.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from functools import partial
from typing import BinaryIO

import orjson

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.connectors.files.folder_store import FolderStore
from runtime.connectors.files.sink.ownership import PartitionOwner

FOLDER = ".headrace"
"""The folder of journals, within the sink's folder."""
_MOST = 10_000  # ends; older ones have been committed long ago


class FileSetJournal:
    """The ends of file sets that the clock has ended in one partition."""

    def __init__(self, store: FolderStore, owner: PartitionOwner, connector: str, tp: TopicPartition) -> None:
        self._owner = owner
        folder, name = f"{FOLDER}/{connector}", f"{tp.topic}-{tp.partition}.json"
        self._path = f"{folder}/{name}"
        owner.take_over(folder, name)
        self._ends: list[int] = _read(store, self._path)

    def next_end(self, offset: int) -> int | None:
        """The offset before which a file set that contains the record at `offset` has to end; None if it may grow."""
        place = bisect_right(self._ends, offset)
        return self._ends[place] if place < len(self._ends) else None

    def add(self, end: int, start: int) -> None:
        """Stores the end of a file set. Ends before `start`, the offset from which the task has read, are dropped."""
        if end not in self._ends:
            insort(self._ends, end)
        self._ends = [end for end in self._ends if end > start][-_MOST:]
        text = orjson.dumps({"ends": self._ends})
        self._owner.write(self._path, partial(_put, text))


def _put(text: bytes, out: BinaryIO) -> None:
    out.write(text)


def _read(store: FolderStore, path: str) -> list[int]:
    text = store.read(path)
    if text is None:
        return []
    try:
        ends = orjson.loads(text)["ends"]
        return sorted(int(end) for end in ends)
    except (ValueError, TypeError, KeyError) as error:
        raise ConnectError(f"{path} is not a valid journal of the files sink: {error}") from error
