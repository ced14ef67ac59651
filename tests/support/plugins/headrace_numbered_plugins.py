"""Sources whose records number themselves, and a sink that records what it gets, for an independent checker.

A source has `source.partitions` partitions, which its tasks share; each greater `turn` moves every partition to the
next task. The value of a record is `connector incarnation partition epoch number task life time`:

- `incarnation` is that of the configuration, which every created connector of this name has another of.
- `number` counts in each partition and epoch from the offset on. The epoch is that of the offset, which a test alters,
  or without an offset that of the configuration.
- `life` identifies the task object, `time` is the machine's CLOCK_MONOTONIC in poll(), the same in all processes.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from runtime.api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ExactlyOnceSupport,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
)

SLOW_START = 3.0
"""Seconds that the constructor of a SlowTask takes."""

_PAUSE, _BATCH = 0.05, 4
"""Seconds between two polls, and records of a partition in each."""


class NumberedTask(SourceTask):
    """Numbers the records of its partitions."""

    def start(self, config: Mapping[str, str]) -> None:
        self._topic, self._who = config["topic"], f"{config['name']} {config['incarnation']}"
        self._life = f"{config['task.number']} {uuid.uuid4().hex[:8]}"
        self._keys = {number: {"partition": number} for number in map(int, config["task.partitions"].split())}
        offsets = self.context.offsets.offsets(list(self._keys.values()))
        new = {"epoch": int(config["epoch"]), "number": 0}
        self._at = {number: dict(offset or new) for number, offset in zip(self._keys, offsets, strict=True)}

    def poll(self) -> Sequence[SourceRecord] | None:
        time.sleep(_PAUSE)
        now = f"{time.monotonic():.3f}"
        records = [self._record(partition, now) for _ in range(_BATCH) for partition in self._keys]
        if records and (transactions := self.context.transactions) is not None:
            transactions.commit(records[len(records) // 2])
        return records

    def _record(self, partition: int, now: str) -> SourceRecord:
        epoch, number = self._at[partition]["epoch"], self._at[partition]["number"]
        offset = self._at[partition] = {"epoch": epoch, "number": number + 1}
        value = f"{self._who} {partition} {epoch} {number} {self._life} {now}"
        key = self._keys[partition]
        return SourceRecord(key, offset, self._topic, value, STRING_SCHEMA, kafka_partition=partition)


class SlowTask(NumberedTask):
    """A task that imports for long."""

    def __init__(self) -> None:
        time.sleep(SLOW_START)


class NumberedSourceConnector(SourceConnector):
    """A source of numbered records. With `fail` it does not start."""

    config_def = ConfigDef(
        ConfigKey("topic", ConfigType.STRING, doc="Topic with a partition for each source partition."),
        ConfigKey("incarnation", ConfigType.INT, doc="Number of connectors of this name before."),
        ConfigKey("source.partitions", ConfigType.INT, doc="Number of source partitions."),
        ConfigKey("turn", ConfigType.INT, 0, doc="How far partitions are moved between tasks."),
        ConfigKey("epoch", ConfigType.INT, 0, doc="Epoch of partitions without an offset."),
        ConfigKey("fail", ConfigType.BOOLEAN, False, doc="Raise in start()."),
    )
    task_class: ClassVar[type[SourceTask]] = NumberedTask

    def start(self, config: Mapping[str, str]) -> None:
        if config.get("fail") == "true":
            raise RuntimeError("start() fails as configured")
        super().start(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        count, turn = int(self.config["source.partitions"]), int(self.config.get("turn", "0"))
        tasks = min(max_tasks, count)
        shares = [[p for p in range(count) if (p + turn) % tasks == number] for number in range(tasks)]
        return [
            {**self.config, "task.number": str(number), "task.partitions": " ".join(map(str, share))}
            for number, share in enumerate(shares)
        ]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        return True

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        return True


class SlowSourceConnector(NumberedSourceConnector):
    """The same with tasks that start slowly."""

    task_class = SlowTask


class RecordingSinkTask(SinkTask):
    """Appends `topic partition offset value` for each record to a file, with one write() for each put()."""

    def start(self, config: Mapping[str, str]) -> None:
        self._file = os.open(config["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)

    def put(self, records: Sequence[SinkRecord]) -> None:
        if records:
            os.write(self._file, "".join(map(_line, records)).encode())

    def stop(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def _line(record: SinkRecord) -> str:
    return f"{record.topic} {record.kafka_partition} {record.kafka_offset} {record.value}\n"


class RecordingSinkConnector(SinkConnector):
    """A sink that records what it gets."""

    config_def = ConfigDef(ConfigKey("file", ConfigType.STRING, doc="File for the records."))
    task_class = RecordingSinkTask

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True
