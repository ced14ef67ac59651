"""Micro-batches whose partitions are read by several tasks, as source offsets.

Task 0 plans such a batch with the offset of the data source. Of `tasks` shares, each has the partitions whose index
leaves the same remainder:

    {"data.source": "…"}  {"offset": "{…}", "end": "{…}", "batch": 1769, "partitions": 6, "tasks": 2}

Each share has an offset of its own, valid for the batch with this number only:

    {"data.source": "…", "task": 1}  {"batch": 1769, "records": 50, "done": false}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.data_source.micro_batches import END, OFFSET, RECORDS, BatchPosition, decoded, encoded
from runtime.connectors.data_source.readers import ReaderOffset

SOURCE, TASK, MODE = "data.source", "task", "mode"
BATCH, PARTITIONS, TASKS, DONE = "batch", "partitions", "tasks", "done"


class SharedBatch(NamedTuple):
    """The plan of a micro-batch; see the module."""

    start: ReaderOffset
    end: ReaderOffset
    batch: int
    partitions: int
    tasks: int

    def offset(self) -> Mapping[str, Any]:
        """The source offset."""
        return {
            OFFSET: encoded(self.start), END: encoded(self.end), BATCH: self.batch, PARTITIONS: self.partitions,
            TASKS: self.tasks,
        }  # fmt: skip


class ShareProgress(NamedTuple):
    """How much of a share has been read; see the module."""

    batch: int
    records: int = 0
    done: bool = False

    @classmethod
    def of(cls, offset: Offset) -> ShareProgress:
        """From a source offset; ConnectError if it is invalid."""
        if set(offset) != {BATCH, RECORDS, DONE} or not isinstance(offset[DONE], bool):
            raise ConnectError(f"The offset of a task has the keys '{BATCH}', '{RECORDS}' and '{DONE}': {offset}")
        return cls(_number(offset, BATCH, 1), _number(offset, RECORDS, 0), offset[DONE])

    def offset(self) -> Mapping[str, Any]:
        """The source offset."""
        return {BATCH: self.batch, RECORDS: self.records, DONE: self.done}


def position_of(offset: Offset) -> BatchPosition | SharedBatch:
    """The position of a data source from its source offset; ConnectError if it is invalid."""
    if BATCH not in offset:
        return BatchPosition.of(offset)
    if set(offset) != {OFFSET, END, BATCH, PARTITIONS, TASKS}:
        raise ConnectError(
            f"An offset with '{BATCH}' has the keys '{OFFSET}', '{END}', '{PARTITIONS}' and '{TASKS}', too: {offset}"
        )
    numbers = [_number(offset, name, 1) for name in (BATCH, PARTITIONS, TASKS)]
    return SharedBatch(decoded(offset, OFFSET), decoded(offset, END), *numbers)


def source_partition(config: Mapping[str, str], streams: bool) -> Partition:
    """The source partition of a data source: one for its streaming reader, another for its batch reader."""
    partition = {SOURCE: config[SOURCE]}
    return partition if streams else {**partition, MODE: "batch"}


def share_partition(source: Partition, share: int) -> Partition:
    return {**source, TASK: share}


def _number(offset: Offset, name: str, least: int) -> int:
    number = offset[name]
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise ConnectError(f"The '{name}' of the offset must be a number of at least {least}: {number!r}")
    return number
