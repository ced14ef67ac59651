"""What a sink task may ask of the runtime, kept until the runtime looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runtime.api.data.record import TopicPartition
from runtime.api.task import ErrantRecordReporter
from runtime.pipeline.sink.convert_sink import Positions


class SinkContext:
    """The SinkTaskContext of a task. Requests take effect before the next batch."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        self.configs = configs
        self.positions: Positions = {}
        self.seeks: Positions = {}
        self.paused: set[TopicPartition] = set()
        self.pause_changed = False
        self.commit_requested = False
        self.errant_record_reporter: ErrantRecordReporter | None = None
        self.settle: Callable[[float], bool] = lambda timeout: True  # waits for what was put aside

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.positions)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.seeks.update({TopicPartition(*tp): offset for tp, offset in offsets.items()})

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(TopicPartition(*tp) for tp in partitions)
        self.pause_changed = True

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)
        self.pause_changed = True

    def request_commit(self) -> None:
        self.commit_requested = True
