"""Requests of a source task: offsets without a record, and a commit before it is due."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api.task import Offset, Partition
    from runtime.pipeline.produce.acks import OffsetsByKey
    from runtime.pipeline.source.source_offsets import CommittedOffsets


class CommitRequests:
    """Requests may be made on any thread; the task's thread takes them after each poll."""

    def __init__(self, keys: CommittedOffsets, wake: Callable[[], None]) -> None:
        """`wake` ends a wait of the task's thread."""
        self._keys, self._wake = keys, wake
        self._lock = threading.Lock()
        self._offsets: dict[bytes, Mapping[str, Any] | None] = {}
        self._soon = False
        self.held = False
        """Nothing is taken while records that were polled before the requests are not sent yet."""

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """See SourceTaskContext.add_offsets()."""
        with self._lock:
            for partition, offset in offsets:
                self._offsets[self._keys.key(partition)] = dict(offset)

    def request_commit(self) -> None:
        """See SourceTaskContext.request_commit()."""
        with self._lock:
            self._soon = True
        self._wake()

    def take(self) -> tuple[OffsetsByKey, bool]:
        """The offsets that have been added since the last call, and whether a commit was requested."""
        if self.held or (not self._soon and not self._offsets):
            return {}, False
        with self._lock:
            offsets, self._offsets = self._offsets, {}
            soon, self._soon = self._soon, False
        return offsets, soon
