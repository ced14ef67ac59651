"""Several tasks of a DataSource in this process, with a worker that commits records and offsets in one transaction, or
records before their offsets."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition, SourceTaskContext
from runtime.connectors.data_source.source import DataSourceConnector
from runtime.connectors.data_source.source_task import DataSourceTask
from runtime.kafka.formats import canonical
from tests.support.waiting import wait_until


class SharedOffsets:
    """An OffsetReader of the committed offsets of all tasks."""

    def __init__(self) -> None:
        self.stored: dict[str, Offset] = {}
        self.failures = 0  # of the next reads of several partitions

    def offset(self, partition: Partition) -> Offset | None:
        return self.stored.get(canonical(partition))

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        if self.failures:
            self.failures -= 1
            raise ConnectError("the broker is not available")
        return [self.offset(partition) for partition in partitions]


class TaskLife:
    """A task from its start to its end, with its open transaction."""

    def __init__(
        self, config: Mapping[str, str], offsets: SharedOffsets, committed: list[SourceRecord], exactly_once: bool
    ) -> None:
        self.configs, self.offsets, self._committed = config, offsets, committed
        self._exactly_once = exactly_once
        self.transactions = None
        self._open: list[SourceRecord] = []
        self._pending: dict[str, Offset] = {}
        self._added: list[tuple[Partition, Offset]] = []
        self._requested = False
        self.task = DataSourceTask()
        self.task.context = cast(SourceTaskContext, self)
        self.task.start(config)

    def wake(self) -> None:
        """The test polls without a pause."""

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        self._added += offsets

    def request_commit(self) -> None:
        self._requested = True

    def step(self, commit: bool) -> None:
        """Polls once; commits if the task requests it or `commit` is set."""
        for record in self.task.poll() or ():
            (self._open if self._exactly_once else self._committed).append(record)
            self._pending[canonical(record.source_partition)] = record.source_offset or {}
        self._pending |= {canonical(partition): offset for partition, offset in self._added}
        self._added = []
        if commit or self._requested:
            self._requested = False
            self._committed += self._open
            self.offsets.stored |= self._pending
            self._open, self._pending = [], {}
            self.task.commit()


class SharedSource:
    """A DataSource connector with `tasks` tasks, which may be killed and replaced."""

    def __init__(self, config: Mapping[str, str], tasks: int, seed: int = 0, exactly_once: bool = True) -> None:
        self._exactly_once = exactly_once
        self.offsets, self.committed = SharedOffsets(), list[SourceRecord]()
        self._config, self._chance = config, random.Random(seed)
        self.tasks: list[TaskLife] = []
        self.kills = 0
        self.scale(tasks)

    def scale(self, tasks: int) -> None:
        """Kills all tasks and starts others."""
        self.stop()
        connector = DataSourceConnector()
        connector.start(self._config)
        configs: Sequence[Mapping[str, Any]] = connector.task_configs(tasks)
        self.tasks = [self._life(config) for config in configs]

    def _life(self, config: Mapping[str, str]) -> TaskLife:
        return TaskLife(config, self.offsets, self.committed, self._exactly_once)

    def kill(self, number: int) -> None:
        """Kills a task, whose open transaction is aborted, and starts it again."""
        self.kills += 1
        self.tasks[number].task.stop()
        self.tasks[number] = self._life(self.tasks[number].configs)

    def step(self, kills: float = 0.0) -> None:
        """Polls each task once, and kills each with this probability."""
        for number in range(len(self.tasks)):
            self.tasks[number].step(commit=self._chance.random() < 0.2)
            if self._chance.random() < kills:
                self.kill(number)

    def until(self, done: Callable[[], bool], kills: float = 0.0) -> None:
        """Steps until a condition holds."""

        def stepped() -> bool:
            self.step(kills)
            return done()

        wait_until(stepped, 30, "the condition", every=0.0005)

    def stop(self) -> None:
        for life in self.tasks:
            life.task.stop()

    def values(self, name: str) -> list[Any]:
        """A field of all committed records, in their order."""
        return [record.value[name] for record in self.committed]
