"""Offsets of a source task whose worker stores them itself (standalone): sent over the slot's channel."""

from __future__ import annotations

import logging
import queue
from typing import TYPE_CHECKING

from runtime.kafka.formats import compact
from runtime.pipeline.produce.acks import OffsetsByKey

if TYPE_CHECKING:
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost

_log = logging.getLogger(__name__)


class WorkerKeptOffsets:
    """Same interface as OffsetWriter, without a topic: once the worker has answered, the commit is durable."""

    def __init__(self, host: SlotHost, spec: TaskSpec) -> None:
        self._host, self._spec = host, spec
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._writing: OffsetsByKey = {}
        self._error: str | None = None

    @property
    def busy(self) -> bool:
        """Whether a commit is pending."""
        return bool(self._writing)

    def write(self, offsets: OffsetsByKey) -> None:
        """Start a commit; only while none is pending."""
        records = [(k.decode(), None if o is None else compact(o).decode()) for k, o in offsets.items()]
        self._writing = offsets
        self._host.offsets(self._spec, records, self._answers.put)

    def finished(self) -> bool:
        """Whether the commit has been stored; True once per commit."""
        try:
            self._error = self._answers.get_nowait()
        except queue.Empty:
            return False
        if self._error is not None:
            return False
        self._writing = {}
        return True

    def failed(self) -> OffsetsByKey:
        """The offsets of a commit that the worker could not store, once; empty otherwise."""
        if self._error is None:
            return {}
        _log.error("Offsets could not be stored, retrying: %s", self._error)
        offsets, self._writing, self._error = self._writing, {}, None
        return offsets
