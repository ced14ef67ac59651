"""Rows about JDBC: a table read and a table written, beside Debezium under Apache's worker, with one PostgreSQL.

Both sides read the same table into records with the same keys and values, and write the same records into equal tables,
which are compared with the records at the end. Debezium reads with its snapshot, and writes with batches as large as
ours."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from runtime.java.install.errors import InstallError
from tests.bench.sides import JAVA, Bench, Refused, create, median
from tests.bench.throughput import end, filled, until, watching
from tests.support.broker import unique
from tests.support.connect import JSON, Connect
from tests.support.java.connectors import DEBEZIUM_JDBC, DEBEZIUM_POSTGRES, plugin_path
from tests.support.packages.debian import PackageMissing
from tests.support.process_usage import usage
from tests.support.servers.postgres import PASSWORD, USER, Postgres

_WARM = 2_000  # rows before the measurement
_COLUMNS = (
    "id bigint PRIMARY KEY, name text NOT NULL, quantity int NOT NULL, weight double precision NOT NULL, "
    "active boolean NOT NULL, created timestamp(3) NOT NULL"
)
_ROWS = (
    "SELECT n, 'item ' || lpad(n::text, 8, '0') || ' abcdefghij', n % 1000, n % 100 + 0.5, n % 2 = 0, "
    "timestamp '2024-01-01' + n * interval '1 second' FROM generate_series(1, {rows}) AS n"
)
_KEY = {
    "key.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON,
}
_FIELDS = (
    ("id", {"type": "int64"}),
    ("name", {"type": "string"}),
    ("quantity", {"type": "int32"}),
    ("weight", {"type": "double"}),
    ("active", {"type": "boolean"}),
    ("created", {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}),
)
_FIRST_MS = 1_704_067_200_000  # 2024-01-01

Found = dict[str, float]


@dataclass(frozen=True, slots=True)
class JdbcSide:
    """A worker of one side with the database."""

    bench: Bench
    side: str
    connect: Connect
    server: Postgres
    database: str

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, *parameters, database=self.database)


def jdbc_source(bench: Bench, side: str, runs: int) -> Found:
    """Rows a second, from the request that creates the connector to the last record in the topic."""
    with _running(bench, side) as rig:
        for table, rows in (("warm", _WARM), ("items", bench.rows)):
            rig.execute(f"CREATE TABLE {table} ({_COLUMNS})")
            rig.execute(f"INSERT INTO {table} {_ROWS.format(rows=rows)}")
            rig.execute(f"ANALYZE {table}")
        _source(rig, "warm", _WARM)
        return _medians([_source(rig, "items", bench.rows) for _ in range(runs)], "jdbc-source")


def jdbc_sink(bench: Bench, side: str, runs: int) -> Found:
    """Upserts a second, from the request that creates the connector to the last record's row in the table; a fifth of
    the records update a row."""
    with _running(bench, side) as rig:
        _sink(rig, _WARM)
        return _medians([_sink(rig, bench.rows) for _ in range(runs)], "jdbc-sink")


@contextmanager
def _running(bench: Bench, side: str) -> Iterator[JdbcSide]:
    try:
        server = Postgres({"wal_level": "logical", "shared_buffers": "256MB", "max_wal_size": "8GB"})
        plugins = {"plugin.path": plugin_path(DEBEZIUM_POSTGRES, DEBEZIUM_JDBC)} if side == JAVA else {}
    except (PackageMissing, InstallError) as missing:
        raise Refused(str(missing)) from None
    worker = bench.worker(side, plugins)
    try:
        server.start()
        worker.start(120)
        yield JdbcSide(bench, side, Connect(worker), server, server.create_database("bench"))
    finally:
        if worker.running():
            worker.stop(60)
        server.remove()


def _medians(found: list[tuple[float, float]], key: str) -> Found:
    return {key: median([rate for rate, _ in found]), f"{key}-cpu": median([cpu for _, cpu in found])}


def _source(rig: JdbcSide, table: str, rows: int) -> tuple[float, float]:
    """Rows a second, and seconds of the worker's processor for a million rows."""
    name = unique("jdbc")
    topic = rig.bench.broker.create_topic(f"{name}.public.{table}" if rig.side == JAVA else f"{name}-{table}", 1)
    config = {**_KEY, "value.converter.schemas.enable": "false", "tasks.max": "1", **_source_config(rig, name, table)}
    before, started = usage(rig.connect.worker.pid).cpu, time.monotonic()
    create(rig.connect, name, config)
    with watching(rig.bench) as watcher:
        until(rig.connect, name, lambda: end(watcher, topic) >= rows, every=0.05, timeout=600)
    seconds, cpu = time.monotonic() - started, usage(rig.connect.worker.pid).cpu - before
    _check_records(rig, topic, rows)
    rig.connect.ask("DELETE", f"/connectors/{name}")
    rig.bench.broker.delete_topics(topic)
    return rows / seconds, cpu / rows * 1e6


def _source_config(rig: JdbcSide, name: str, table: str) -> dict[str, str]:
    if rig.side == JAVA:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            **rig.server.cdc_config(rig.database),
            "topic.prefix": name,
            "table.include.list": f"public.{table}",
            "plugin.name": "pgoutput",
            "slot.name": name.replace("-", "_"),
            "publication.name": name.replace("-", "_"),
            "snapshot.mode": "initial_only",
            "time.precision.mode": "connect",
            "transforms": "unwrap",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        }
    return {
        "connector.class": "JdbcSource",
        **rig.server.config(rig.database),
        "table.whitelist": table,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": f"{name}-",
        "transforms": "key",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.key.fields": "id",
    }


def _sink(rig: JdbcSide, rows: int) -> tuple[float, float]:
    """As _source()."""
    name, table = unique("jdbc"), "written"
    topic = _filled(rig.bench, rows)
    rig.execute(f"DROP TABLE IF EXISTS {table}")
    rig.execute(f"CREATE TABLE {table} ({_COLUMNS})")
    config = {**_KEY, "value.converter.schemas.enable": "true", "tasks.max": "1", "topics": topic}
    config |= _sink_config(rig, table)
    last = rows - 1
    before, started = usage(rig.connect.worker.pid).cpu, time.monotonic()
    create(rig.connect, name, config)
    query = f"SELECT 1 FROM {table} WHERE id = {_id(last, rows)} AND quantity = {_quantity(last)}"
    until(rig.connect, name, lambda: bool(rig.execute(query)), every=0.05, timeout=600)
    seconds, cpu = time.monotonic() - started, usage(rig.connect.worker.pid).cpu - before
    rig.connect.ask("DELETE", f"/connectors/{name}")
    found = rig.execute(f"SELECT count(*), sum(quantity), sum(id) FROM {table}")
    expected = {_id(number, rows): _quantity(number) for number in range(rows)}
    assert found == [(len(expected), sum(expected.values()), sum(expected))], found
    return rows / seconds, cpu / rows * 1e6


def _sink_config(rig: JdbcSide, table: str) -> dict[str, str]:
    if rig.side == JAVA:
        url = f"jdbc:postgresql://127.0.0.1:{rig.server.port}/{rig.database}?reWriteBatchedInserts=true"
        return {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "connection.url": url,
            "connection.username": USER,
            "connection.password": PASSWORD,
            "insert.mode": "upsert",
            "primary.key.mode": "record_value",
            "primary.key.fields": "id",
            "schema.evolution": "none",
            "collection.name.format": table,
            "batch.size": "5000",
            "consumer.override.max.poll.records": "5000",
        }
    return {
        "connector.class": "JdbcSink",
        **rig.server.config(rig.database),
        "table.name.format": table,
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
    }


def _id(number: int, rows: int) -> int:
    return number % (rows * 4 // 5) + 1


def _quantity(number: int) -> int:
    return number % 100_003


def _filled(bench: Bench, rows: int) -> str:
    """A topic of one partition with this many records, filled once."""
    fields = [{"field": name, "optional": False, **kind} for name, kind in _FIELDS]
    schema = json.dumps({"type": "struct", "optional": False, "name": "item", "fields": fields})

    def text(number: int) -> str:
        identifier = _id(number, rows)
        payload = (
            f'{{"id":{identifier},"name":"item {identifier:08d} abcdefghij","quantity":{_quantity(number)},'
            f'"weight":{number % 100}.5,"active":{"true" if number % 2 else "false"},'
            f'"created":{_FIRST_MS + number * 1000}}}'
        )
        return f'{{"schema":{schema},"payload":{payload}}}'

    return filled(bench, f"rows-{rows}", text, records=rows)


def _check_records(rig: JdbcSide, topic: str, rows: int) -> None:
    """The first and the last records have the keys and values of their rows."""
    for start in (0, rows - 100):
        for offset, (key, value) in enumerate(_messages(rig, topic, start, 100), start):
            number = offset + 1
            expected: Mapping[str, Any] = {
                "id": number,
                "name": f"item {number:08d} abcdefghij",
                "quantity": number % 1000,
                "weight": number % 100 + 0.5,
                "active": number % 2 == 0,
                "created": _FIRST_MS + number * 1000,
            }
            assert key == {"id": number} and value == expected, (key, value)


def _messages(rig: JdbcSide, topic: str, start: int, count: int) -> list[tuple[Any, Any]]:
    from confluent_kafka import TopicPartition

    with watching(rig.bench) as consumer:
        consumer.assign([TopicPartition(topic, 0, start)])
        found = consumer.consume(count, 20)
        return [(json.loads(message.key() or b"null"), json.loads(message.value() or b"null")) for message in found]
