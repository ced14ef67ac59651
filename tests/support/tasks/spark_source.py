"""A SparkSource task that a test runs directly, with a session that the test answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet

from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTaskContext
from runtime.connectors.spark.session_client import SessionClient
from runtime.connectors.spark.source.task import SparkSourceTask
from tests.support.tasks.spark_sink import ScriptedSession
from tests.support.tasks.task_contexts import StoredOffsets, TaskSourceContext

PARTITION = {"spark.source": "json /in"}


class SparkSourceRig:
    """The task with a clock, and the offsets that have been committed."""

    def __init__(
        self, folder: Path, offset: Mapping[str, Any] | None = None, config: Mapping[str, str] | None = None
    ) -> None:
        self.now = 0.0
        self._folder = folder
        self.session = ScriptedSession()
        session = cast("SessionClient", self.session)  # the methods that the task uses
        self.offsets = StoredOffsets([(PARTITION, offset)] if offset is not None else [])
        self.context = TaskSourceContext(self.offsets)
        self.task = SparkSourceTask(lambda: self.now, lambda name: session)
        self.task.context = cast(SourceTaskContext, self.context)
        self.task.start(
            {"name": "lake", "topic": "t", "spark.format": "json", "spark.path": "/in", "spark.checkpoint": "/c"}
            | dict(config or {})
        )

    def opened(self) -> dict[str, Any]:
        """The session has opened the source; returns the request."""
        request = self.session.requests[0][0]
        self.session.answer("open", {"checkpoint": "c1"})
        assert self.task.poll() is None
        return request

    def hand_over(self, batch: int, *files: list[dict[str, Any]]) -> dict[str, Any]:
        """The session has a batch, in these files; returns the request."""
        paths = []
        for number, rows in enumerate(files):
            paths.append(str(self._folder / f"{batch}-{number}.parquet"))
            parquet.write_table(
                pa.Table.from_pylist(rows, pa.schema({"id": pa.int64(), "name": pa.string()})), paths[-1]
            )
        request = self.session.requests[0][0]
        self.session.answer("next", {"batch": batch, "spool": "s1", "files": paths, "seconds": 0.5})
        return request

    def poll(self) -> list[SourceRecord]:
        """The records of a poll, which are not committed yet."""
        return list(self.task.poll() or ())

    def commit(self, *found: SourceRecord) -> None:
        """The worker has committed the offsets of these records."""
        self.offsets.commit(found)
        self.task.commit()
