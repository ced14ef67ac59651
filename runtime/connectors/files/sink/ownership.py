"""Publishing of files on disks by the task that owns a topic partition, and by no other.

A task whose slot was frozen may wake up while its successor writes the same files. Every write has a temporary name of
its own, and before the successor publishes its first file in a folder, it removes the temporary files of all earlier
attempts at this partition: the frozen task cannot publish them any more. What it writes later is not published because
it checks, after writing, that the task still owns the partition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import BinaryIO

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.connectors.files.folder_store import FolderStore


class PartitionOwner:
    """Writes the files of one topic partition while a task owns it. Thread-safe."""

    def __init__(self, store: FolderStore, tp: TopicPartition, check: Callable[[], None]) -> None:
        """`check` raises an error if the task has ended or its slot has lost its lease."""
        self._store, self._tp, self._check_task = store, tp, check
        self._taken: set[str] = set()  # folders
        self._lock = threading.Lock()
        self._released = False

    def take_over(self, folder: str, prefix: str) -> None:
        """Ends the writes of earlier owners in a folder: of files whose names start with the prefix."""
        with self._lock:
            if folder not in self._taken:
                self._store.remove_unfinished(folder, prefix)
                self._taken.add(folder)

    def write(self, path: str, fill: Callable[[BinaryIO], None]) -> int:
        """As FolderStore.write(). Raises an error instead of publishing the file if the partition has another owner."""
        self.take_over(path.rpartition("/")[0], f"{self._tp.topic}+{self._tp.partition}+")
        return self._store.write(path, fill, self._check)

    def release(self) -> None:
        """The partition is about to get another owner: publish nothing from now on."""
        self._released = True

    def _check(self) -> None:
        if self._released:
            raise ConnectError(f"{self._tp.topic}-{self._tp.partition} was assigned to another task")
        self._check_task()
