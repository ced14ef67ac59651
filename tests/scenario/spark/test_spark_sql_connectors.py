"""headrace.SparkSql in three sources and three sinks, Python and Java: the rows of plain Spark, after kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.scenario.spark import sql_rows
from tests.scenario.spark.sql_rows import PARSED, Result, Rows
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.java.connectors import DEBEZIUM_JDBC, FILE, PREFER_FILE, plugin_path
from tests.support.java.recipes import recipe
from tests.support.kafka.topics import count, pairs
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

COUNT = 1_001_000
"""The last records of both partitions pass the filter: Debezium's sink commits only offsets of what it was given.

The last batch of Kafka's file source (2,000 lines) is not full: lines behind a full one would wait for the next write.
"""
JAVA_FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
JSON = {
    "key.converter": STRING,
    **JSON_VALUES,
    "value.converter.decimal.format": "NUMERIC",
}
TARGET = "CREATE TABLE target (id bigint PRIMARY KEY, name text, gross numeric(14, 2), later timestamp(3), shop text)"
WRITTEN = "SELECT id, name, gross, (extract(epoch FROM later) * 1000)::bigint, shop FROM target ORDER BY id"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return sql_rows.make(tmp_path_factory.mktemp("rows"), COUNT)


@dataclass(frozen=True, slots=True)
class Rig:
    """A worker with exactly-once sources, and what a connector reads and writes."""

    rows: Rows
    process: WorkerProcess
    broker: KafkaBroker
    postgres: Postgres
    folder: Path
    name: str

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.postgres.execute(statement, database=self.name)

    def sink_of_a_table(self) -> dict[str, str]:
        self.postgres.create_database(self.name)
        self.query(TARGET)
        return {
            "connector.class": "JdbcSink", "table.name.format": "target", "insert.mode": "upsert",
            "pk.mode": "record_value", "pk.fields": "id", **self.postgres.config(self.name),
        }  # fmt: skip

    def debezium_sink(self) -> dict[str, str]:
        self.sink_of_a_table()
        url = f"jdbc:postgresql://127.0.0.1:{self.postgres.port}/{self.name}?reWriteBatchedInserts=true"
        connection = {"connection.url": url, "connection.username": USER, "connection.password": PASSWORD}
        keys = {"primary.key.mode": "record_value", "primary.key.fields": "id", "delete.enabled": "false"}
        return {**recipe("JdbcSinkConnector", **connection, **{"collection.name.format": "target"}), **keys}

    def files_sink(self) -> dict[str, str]:
        return {"connector.class": "FilesSink", "url": str(self.folder), "flush.size": str(COUNT // 20),
                "rotate.schedule.interval.ms": "500"}  # fmt: skip

    def jdbc_source(self) -> dict[str, str]:
        self.rows.table(self.postgres, self.postgres.create_database(self.name))
        return {
            "connector.class": "JdbcSource", "mode": "incrementing", "incrementing.column.name": "id",
            "table.whitelist": "origin", "topic.prefix": f"{self.name}-", "poll.interval.ms": "500",
            **self.postgres.config(self.name),
        }  # fmt: skip

    def files_source(self) -> dict[str, str]:
        return {"connector.class": "FilesSource", "url": str(self.rows.parquet), "pattern": "*.parquet",
                "format": "parquet", "topic": self.topic}  # fmt: skip

    def java_file_source(self) -> dict[str, str]:
        return {"connector.class": JAVA_FILE, "file": str(self.rows.lines), "topic": self.topic}

    @property
    def topic(self) -> str:
        return f"{self.name}-origin"

    def of_table(self) -> list[Result]:
        return [(number, name, gross, later, shop) for number, name, gross, later, shop in self.query(WRITTEN)]

    def of_files(self) -> list[Result]:
        return sorted(row for file in self.folder.rglob("*.parquet") for row in sql_rows.of_table(file))


@pytest.fixture
def rig(rows: Rows, worker: StartWorker, broker: KafkaBroker, postgres: Postgres, tmp_path: Path) -> Rig:
    exactly_once = {"exactly.once.source.support": "enabled", "plugin.path": plugin_path(DEBEZIUM_JDBC, FILE)}
    process = worker({**exactly_once, **PREFER_FILE})
    return Rig(rows, process, broker, postgres, tmp_path / "files", unique("sql"))


@pytest.mark.parametrize(
    ("config", "relation"),
    [(Rig.jdbc_source, "records"), (Rig.files_source, "records"), (Rig.java_file_source, PARSED)],
    ids=["jdbc", "files", "java"],
)
def test_a_source(rig: Rig, config: Callable[[Rig], dict[str, str]], relation: str) -> None:
    """The topic has the rows of plain Spark, each once and in order, for readers of committed records."""
    broker, expected = rig.broker, rig.rows.expected
    broker.create_topic(rig.topic)
    connect = _created(rig, {**config(rig), **JSON}, relation)

    def written() -> int:
        return count(broker.bootstrap, rig.topic)

    _kill_twice(rig.process, connect, rig.name, written, len(expected))
    wait_until(lambda: len(pairs(broker.bootstrap, rig.topic)) >= len(expected), 900, "all rows committed", every=5)
    connect.stop(rig.name)
    _same((sql_rows.of_json(value or b"") for _, value in pairs(broker.bootstrap, rig.topic)), expected)


@pytest.mark.parametrize(
    ("config", "results"),
    [(Rig.sink_of_a_table, Rig.of_table), (Rig.files_sink, Rig.of_files), (Rig.debezium_sink, Rig.of_table)],
    ids=["jdbc", "files", "java"],
)
def test_a_sink(rig: Rig, config: Callable[[Rig], dict[str, str]], results: Callable[[Rig], list[Result]]) -> None:
    """The target has the rows of plain Spark, each once."""
    topic = rig.broker.create_topic(rig.topic, 2)
    _fill(rig.broker, topic, rig.rows.lines)
    converters = {"key.converter": STRING, "value.converter": STRING}
    connect = _created(rig, {**config(rig), "topics": topic, **converters}, PARSED)

    def read() -> int:
        return connect.committed(rig.name)

    _kill_twice(rig.process, connect, rig.name, read, COUNT)
    wait_until(lambda: read() == COUNT, 900, "all records read", every=1)
    connect.stop(rig.name)
    _same(results(rig), rig.rows.expected)


def _created(rig: Rig, config: dict[str, str], relation: str) -> Connect:
    connect = Connect(rig.process)
    step = {"transforms": "q", "transforms.q.type": "headrace.SparkSql", "transforms.q.sql": sql_rows.query(relation)}
    connect.create(rig.name, {"tasks.max": "1", **config, **step})
    return connect


def _kill_twice(process: WorkerProcess, connect: Connect, name: str, progress: Callable[[], int], end: int) -> None:
    """Kills the connector's slot after a tenth, and the worker after two fifths."""
    _reach(connect, name, progress, end // 10)
    os.kill(connect.slot_of(name), signal.SIGKILL)
    _reach(connect, name, progress, end * 2 // 5)
    assert progress() < end, "the connector was at the end before the worker was killed"
    process.kill()
    process.start()


def _reach(connect: Connect, name: str, progress: Callable[[], int], goal: int) -> None:
    try:
        wait_until(lambda: progress() >= goal, 300, f"{goal} records", every=0.05)
    except AssertionError as error:
        raise AssertionError(f"{error}; {connect.status(name)}") from None


def _same(found: Iterable[Result], expected: list[Result]) -> None:
    """Compares without a difference of a million lines."""
    made = list(found)
    first = next((pair for pair in zip(made, expected, strict=False) if pair[0] != pair[1]), None)
    assert (first, len(made)) == (None, len(expected))


def _fill(broker: KafkaBroker, topic: str, lines: Path) -> None:
    with lines.open("rb") as file, broker.writing() as write:
        for number, line in enumerate(file):
            write(topic, line.rstrip(), partition=number % 2)
