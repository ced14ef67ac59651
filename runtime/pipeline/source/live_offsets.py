"""The source offsets that a task reads: as of its start during start(), then as they are committed."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.kafka.formats import canonical

if TYPE_CHECKING:
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import OffsetsRead, SlotHost
    from runtime.pipeline.source.source_offsets import CommittedOffsets
    from runtime.pipeline.task.control import Control

_REQUEST = 1000  # partitions in a request to the worker
_CHECK_INTERVAL = 0.1  # seconds between two checks whether the task is being stopped
_MAX_WAIT = 900.0  # seconds: Kafka's limit for the duration of a transaction, for whose end the worker waits


class LiveOffsets:
    """The OffsetReader of a task. Thread-safe.

    The worker has read the offsets immediately before it has started the task, after everything that earlier runs may
    have left behind had been fenced, so that start() needs no further request. Later reads are answered by the worker,
    which reads the offsets topic."""

    def __init__(self, spec: TaskSpec, host: SlotHost, control: Control, at_start: CommittedOffsets) -> None:
        self._spec, self._host, self._control, self._at_start = spec, host, control, at_start
        self.live = False
        """Whether start() has returned."""

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The committed offset of a partition; None without one."""
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """The committed offsets of several partitions. ConnectError if they cannot be read, DataError if a partition is
        not JSON."""
        if not self.live:
            return [self._at_start.offset(partition) for partition in partitions]
        names = [canonical(partition) for partition in partitions]
        found: list[Mapping[str, Any] | None] = []
        for start in range(0, len(names), _REQUEST):
            found += self._read(names[start : start + _REQUEST])
        return found

    def _read(self, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        answers: queue.SimpleQueue[OffsetsRead] = queue.SimpleQueue()
        self._host.read_offsets(self._spec, partitions, answers.put)
        found = self._answer(answers)
        if isinstance(found, str):
            raise ConnectError(f"The committed offsets could not be read: {found}")
        return found

    def _answer(self, answers: queue.SimpleQueue[OffsetsRead]) -> OffsetsRead:
        give_up = time.monotonic() + _MAX_WAIT
        while True:
            try:
                return answers.get(timeout=_CHECK_INTERVAL)
            except queue.Empty:
                pass
            if self._control.stopping:
                give_up = min(give_up, time.monotonic() + self._spec.flush_timeout)
            if self._control.revoked or time.monotonic() > give_up:
                return "the worker has not responded" if not self._control.stopping else "the task is being stopped"
