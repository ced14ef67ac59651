"""A FilesSource task that a test runs directly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.connectors.files.source.connector import FilesSourceConnector
from runtime.connectors.files.source.task import FilesSourceTask
from tests.support.clock import Clock
from tests.support.tasks.task_contexts import StoredOffsets, started


class SourceDriver:
    """Runs a task; `read` are the values of all records so far."""

    def __init__(
        self,
        folder: Path | str,
        config: Mapping[str, str] | None = None,
        offsets: StoredOffsets | None = None,
        number: int = 0,
    ) -> None:
        connector = FilesSourceConnector()
        connector.start({"url": str(folder), "topic": "rows", "batch.size": "2", **(config or {})})
        tasks = int((config or {}).get("tasks.max", "1"))
        self.clock = Clock(1000.0)
        self.offsets = offsets or StoredOffsets()
        self.task = started(
            FilesSourceTask(self.clock, self.clock), connector.task_configs(tasks)[number], self.offsets
        )
        self.read: list[Any] = []
        self.tolerant, self.errors = False, list[str]()

    def poll(self, commit: bool = True) -> list[SourceRecord]:
        """The next batch. The errors of rows that are unreadable are in `errors`, or raised unless `tolerant`."""
        batch = self.task.poll() or []
        for record in batch:
            if not isinstance(record, ErrantSourceRecord):
                self.read.append(record.value)
            elif self.tolerant:
                self.errors.append(str(record.error))
            else:
                raise record.error
        if commit and batch:
            self.offsets.commit(batch)
            self.task.commit()
        return list(batch)

    def drain(self) -> list[Any]:
        """Reads until nothing is left; the values of all records so far."""
        while self.poll():
            pass
        return self.read

    def list_again(self) -> list[Any]:
        self.clock.now += 60
        return self.drain()
