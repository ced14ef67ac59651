"""A FilesSink task that a test runs directly, and its files read back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.data.schema import Schema
from runtime.api.task import SinkTask
from runtime.connectors.files.sink.task import FilesSinkTask
from tests.support.tasks.task_contexts import DeadLetterList, TaskSinkContext
from tests.support.waiting import wait_until

TP = TopicPartition("orders", 0)
EPOCH = 1_700_000_000_000


class SinkDriver:
    """Runs a task as the worker does; `committed` is the offset of the last commit."""

    def __init__(
        self,
        folder: Path | str,
        config: Mapping[str, str],
        reporter: DeadLetterList | None = None,
        clock: Callable[[], float] = time.monotonic,
        context: TaskSinkContext | None = None,
        commit_wait: float = 0.2,
    ) -> None:
        self.task: SinkTask = FilesSinkTask(clock, commit_wait)
        self.context = context or TaskSinkContext(reporter)
        self.task.context = self.context.as_context()
        self.task.start({"name": "files", "url": str(folder), "topics": TP.topic, **config})
        self.position = self.committed = 0

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.task.put(records)
        if records:
            self.position = records[-1].kafka_offset + 1

    def commit(self) -> int:
        self.committed = self.task.pre_commit({TP: self.position})[TP]
        return self.committed

    def commit_until(self, offset: int) -> None:
        """Commits until this offset has been reached."""
        wait_until(lambda: self.commit() >= offset, 10, f"offset {offset} committed", every=0.005)
        assert self.committed == offset

    def stop(self) -> None:
        self.task.close([TP])
        self.task.stop()


def records(values: Iterable[Any], start: int = 0, schema: Schema | None = None, step: int = 1000) -> list[SinkRecord]:
    """Records from offset `start`, with timestamps `step` milliseconds apart."""
    return [
        SinkRecord(TP.topic, TP.partition, None, None, schema, value, start + n, EPOCH + (start + n) * step)
        for n, value in enumerate(values)
    ]


def files(folder: Path) -> dict[str, list[Any]]:
    """The rows of all Parquet and JSON files by their path, without the topic's folder."""
    from pyarrow import parquet

    found: dict[str, list[Any]] = {}
    for file in sorted(folder.rglob("*+*+*")):
        rows = (
            parquet.ParquetFile(file).read().to_pylist()
            if file.suffix == ".parquet"
            else [json.loads(line) for line in file.read_text().splitlines()]
        )
        found[str(file.relative_to(folder / TP.topic))] = rows
    return found
