"""The SinkTaskContext of a task; requests are stored until the runtime applies them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from runtime.api.data.record import TopicPartition
from runtime.api.task import ErrantRecordReporter
from runtime.pipeline.sink.convert_sink import Positions

if TYPE_CHECKING:
    from runtime.pipeline.sink.consumer_group import ConsumerGroup


class SinkContext:
    """The SinkTaskContext of a task. Requests take effect before the next batch. The task may make them on any thread;
    the other attributes belong to the task's thread."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._timeout: float | None = None
        self.configs = configs
        self.positions: Positions = {}
        self.seeks: Positions = {}
        self.committed: Positions = {}  # of PartitionAssignment
        self.paused: set[TopicPartition] = set()
        self.pause_changed = False
        self.commit_requested = False
        self.errant_record_reporter: ErrantRecordReporter | None = None
        self.settle: Callable[[float], bool] = lambda timeout: True  # waits for dead letters
        self.collect_put: Callable[[], None] = lambda: None  # waits for a put that is under way
        self.ownership: Callable[[], None] = lambda: None
        self.group: ConsumerGroup | None = None  # without a consumer

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.positions)

    def position(self, partition: TopicPartition) -> int:
        """The offset after the last record that the task was given. KeyError if the partition is not assigned."""
        return self.positions[partition]

    @property
    def requested(self) -> bool:
        """Whether the task has sought, paused or resumed, which has not taken effect yet."""
        return bool(self.seeks) or self.pause_changed

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets on."""
        wanted = {TopicPartition(*tp): offset for tp, offset in offsets.items()}
        with self._lock:
            self.seeks.update(wanted)

    def take_seeks(self) -> Positions:
        """The requested positions, once."""
        with self._lock:
            taken, self.seeks = self.seeks, {}
        return taken

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop reading these partitions."""
        self.paused.update(TopicPartition(*tp) for tp in partitions)
        self.pause_changed = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Read these partitions again."""
        self.paused.difference_update(partitions)
        self.pause_changed = True

    def request_commit(self) -> None:
        """Request an early offset commit."""
        self.commit_requested = True

    def check_ownership(self) -> None:
        """Raise an error if another task may own the partitions."""
        self.ownership()

    def timeout(self, seconds: float) -> None:
        """Request a call of put() after this time."""
        self._timeout = max(seconds, 0.0)

    def take_timeout(self) -> float | None:
        """The time that the task has requested in timeout(), once; None if it has not."""
        taken, self._timeout = self._timeout, None
        return taken
