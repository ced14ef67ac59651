"""JDBC from table to table through a real worker, Spark slots, a broker and PostgreSQL, while processes are killed."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.processes import children, is_slot
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

_JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "true"}
_TABLE = (
    "(id bigint PRIMARY KEY, amount numeric(12,2), at timestamptz(3), code uuid, doc jsonb, tags text[], raw bytea)"
)
_ROWS = (
    "SELECT n, n / 100.0, timestamptz '2024-01-01Z' + n * interval '1 ms', md5(n::text)::uuid, "
    "jsonb_build_object('n', n), ARRAY['a', NULL, n::text], decode(md5(n::text), 'hex') "
    "FROM generate_series({first}, {last}) AS n"
)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killed_slot_and_worker(worker: StartWorker, broker: KafkaBroker, postgres: Postgres) -> None:
    """Kills a slot, then the worker, in the middle of a load; at the end both tables have the same rows."""
    process, rows = worker(), 1_000_000
    connect, name = Connect(process), unique("jdbc")
    database = postgres.create_database(name)

    def query(statement: str) -> list[tuple[object, ...]]:
        return postgres.execute(statement, database=database)

    def written() -> int:
        return int(str(query("SELECT count(*) FROM target")[0][0]))

    for table in ("source", "target"):
        query(f"CREATE TABLE {table} {_TABLE}")
    query(f"INSERT INTO source {_ROWS.format(first=1, last=rows)}")
    topic = broker.create_topic(f"{name}-source", 2)
    connect.create(name, {
        "connector.class": "JdbcSource", "mode": "incrementing", "incrementing.column.name": "id",
        "table.whitelist": "source", "topic.prefix": f"{name}-", "poll.interval.ms": "500",
        **postgres.config(database), **_JSON,
    })  # fmt: skip
    connect.create(f"{name}-sink", {
        "connector.class": "JdbcSink", "topics": topic, "tasks.max": "2", "table.name.format": "target",
        "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", **postgres.config(database), **_JSON,
    })  # fmt: skip
    wait_until(lambda: written() > rows // 10, 120, "a tenth of the rows", every=0.02)
    os.kill(next(pid for pid in children(process.pid) if is_slot(pid)), signal.SIGKILL)
    wait_until(lambda: written() > rows // 2, 200, "half of the rows", every=0.02)
    process.kill()
    query(f"INSERT INTO source {_ROWS.format(first=rows + 1, last=rows + 5)}")
    process.start()
    wait_until(lambda: written() == rows + 5, 300, "all rows", every=0.2)
    assert query("SELECT * FROM source EXCEPT SELECT * FROM target") == []
    connect.ask("DELETE", f"/connectors/{name}")
    connect.ask("DELETE", f"/connectors/{name}-sink")
