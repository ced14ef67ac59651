"""JDBC connectors and tasks that run without a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import Schema
from runtime.connectors.jdbc.sink_connector import JdbcSinkTask
from runtime.connectors.jdbc.source_connector import JdbcSourceConnector, JdbcSourceTask
from tests.support.tasks.task_contexts import TaskSourceContext


class SourceTestContext(TaskSourceContext):
    """Also a ConnectorContext; `requests` counts those for other task configurations."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    def commit(self, records: Sequence[SourceRecord]) -> None:
        """Commits the offsets of these records."""
        self.offsets.commit(records)

    def request_task_reconfiguration(self) -> None:
        self.requests += 1

    def raise_error(self, error: Exception) -> None:
        raise error


class SourceRun:
    """A started source connector with one task."""

    def __init__(self, config: Mapping[str, str], context: SourceTestContext | None = None) -> None:
        self.context = context or SourceTestContext()
        self.connector = JdbcSourceConnector()
        self.connector.context = self.context
        self.connector.start({"topic.prefix": "t-", "poll.interval.ms": "200", **config})
        (task_config,) = self.connector.task_configs(1)
        self.task = JdbcSourceTask()
        self.task.context = self.context
        self.task.start(task_config)

    def read(self) -> list[SourceRecord]:
        """All records up to the first poll without any; their offsets are committed."""
        found: list[SourceRecord] = []
        while batch := self.task.poll():
            found += batch
        self.context.commit(found)
        return found

    def stop(self) -> None:
        self.task.stop()
        self.connector.stop()


def read_once(config: Mapping[str, str], context: SourceTestContext | None = None) -> list[SourceRecord]:
    """The records that a new connector finds."""
    run = SourceRun(config, context)
    try:
        return run.read()
    finally:
        run.stop()


class ReportedRecords:
    """A SinkTaskContext whose reporter tolerates all errors; `failed` has the values and messages."""

    def __init__(self, tolerates: bool = True) -> None:
        self.failed: list[tuple[Any, str]] = []
        self.delays: list[float] = []
        self.errant_record_reporter: Any = self if tolerates else None

    def timeout(self, seconds: float) -> None:
        self.delays.append(seconds)

    def report(self, record: SinkRecord, error: Exception) -> None:
        self.failed.append((record.value, str(error)))


class SinkRun:
    """A started sink task."""

    def __init__(self, config: Mapping[str, str], tolerates: bool = True) -> None:
        self.context = ReportedRecords(tolerates)
        self.task = JdbcSinkTask()
        self.task.context = self.context  # type: ignore[assignment]  # the parts that the task uses
        self.task.start(config)
        self._offset = 0

    def put(self, *records: tuple[Any, Any], schemas: tuple[Schema | None, Schema | None], topic: str = "t") -> None:
        """Puts records with these keys and values in one batch; null values have no schema."""
        self.task.put([self.record(key, value, schemas, topic) for key, value in records])

    def record(self, key: Any, value: Any, schemas: tuple[Schema | None, Schema | None], topic: str) -> SinkRecord:
        """The next record of the topic's partition 0."""
        self._offset += 1
        schema = None if value is None else schemas[1]
        return SinkRecord(topic, 0, schemas[0], key, schema, value, self._offset)

    def stop(self) -> None:
        self.task.stop()


Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement, and returns its rows."""
