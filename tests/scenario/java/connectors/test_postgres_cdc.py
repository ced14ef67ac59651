"""PostgresCdcSource beside Debezium on the same changes: equal records; rate and memory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.slots import is_jvm
from tests.support.kafka.topics import count, messages
from tests.support.process_usage import usage
from tests.support.processes import children, is_slot
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tests.support.tasks.cdc_tables import CHANGES, TABLES
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.environ.get("HEADRACE_TEST_SIDE") == "java", reason="PostgresCdcSource is Headrace's"),
]

_DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
_JSON = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
_MODES: dict[str, dict[str, str]] = {
    "defaults": {"publication.autocreate.mode": "all_tables"},
    "connect": {
        "publication.autocreate.mode": "filtered", "table.include.list": "public.*", "decimal.handling.mode": "string",
        "time.precision.mode": "connect", "interval.handling.mode": "string", "hstore.handling.mode": "map",
        "skipped.operations": "none",
    },
    "micros": {
        "publication.autocreate.mode": "all_tables", "decimal.handling.mode": "double",
        "time.precision.mode": "adaptive_time_microseconds", "binary.handling.mode": "hex",
        "tombstones.on.delete": "false",
    },
}  # fmt: skip
_OF_TIME = ("ts_ms", "ts_us", "ts_ns")
_OF_SOURCE = ("version", "txId", "lsn", "sequence", *_OF_TIME)


@dataclass(frozen=True, slots=True)
class Pair:
    """A database with the connectors of both."""

    connect: Connect
    broker: KafkaBroker
    server: Postgres
    database: str

    def create(self, cls: str, prefix: str, **more: str) -> str:
        """Creates a connector whose topics start with `prefix`; its name."""
        name = unique("pair")
        slot = name.replace("-", "_")
        self.connect.create(name, {
            "connector.class": cls, "database.hostname": "127.0.0.1", "database.port": str(self.server.port),
            "database.user": USER, "database.password": PASSWORD, "database.dbname": self.database,
            "topic.prefix": prefix, "plugin.name": "pgoutput", "slot.name": slot, "publication.name": slot,
            "poll.interval.ms": "100", **_JSON, **more,
        })  # fmt: skip
        return name

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, database=self.database)

    def records(self, prefix: str) -> dict[str, list[tuple[Any, Any, list[Any]]]]:
        """Keys, values and headers by table, without what differs in every run."""
        from confluent_kafka.admin import AdminClient

        topics = AdminClient({"bootstrap.servers": self.broker.bootstrap}).list_topics(timeout=20).topics
        return {
            topic.removeprefix(prefix): [
                _comparable(message, prefix) for message in messages(self.broker.bootstrap, topic)
            ]
            for topic in sorted(topics)
            if topic.startswith(f"{prefix}.public.")
        }

    def remove(self, name: str) -> None:
        """Deletes a connector and its slot, which keeps the log of all databases."""
        self.connect.ask("DELETE", f"/connectors/{name}")
        slots = f"FROM pg_replication_slots WHERE slot_name = '{name.replace('-', '_')}'"
        drop, left = f"SELECT pg_drop_replication_slot(slot_name) {slots} AND NOT active", f"SELECT 1 {slots}"
        wait_until(lambda: self.execute(drop) or not self.execute(left), 30, "the slot is dropped", every=0.2)


def _comparable(message: Any, prefix: str) -> tuple[Any, Any, list[Any]]:
    key, value = (
        json.loads(data.replace(prefix.encode(), b"PREFIX")) if data else None
        for data in (message.key(), message.value())
    )
    if value is not None:
        event = value["payload"]
        event |= dict.fromkeys(_OF_TIME)
        event["source"] |= dict.fromkeys(_OF_SOURCE)
        for row in (event["before"], event["after"]):
            if row and isinstance(row.get("h"), str):  # the pairs of an hstore are in the order of a HashMap
                row["h"] = json.loads(row["h"])
    headers = [
        (
            name,
            json.loads(data.replace(prefix.encode(), b"PREFIX"))["payload"] if b"payload" in data else json.loads(data),
        )
        for name, data in message.headers() or []
        if not name.startswith("__debezium.context")
    ]
    return key, value, headers


@pytest.fixture
def pair(connect: Connect, broker: KafkaBroker, postgres: Postgres) -> Iterator[Pair]:
    made = Pair(connect, broker, postgres, postgres.create_database(unique("pair")))
    yield made
    for name in connect.ask("GET", "/connectors"):
        made.remove(name)


@pytest.mark.parametrize("mode", _MODES)
def test_equal_records(pair: Pair, mode: str) -> None:
    """All types, keys, replica identities, changes of tables; keys, values, schemas and headers."""
    for statement in TABLES:
        pair.execute(statement)
    prefixes = {cls: unique(mode) for cls in (_DEBEZIUM, "PostgresCdcSource")}
    for cls, prefix in prefixes.items():
        pair.create(cls, prefix, **_MODES[mode])

    def has(mark: bytes) -> bool:
        return all(_contains(pair, f"{prefix}.public.zlast", mark) for prefix in prefixes.values())

    wait_until(lambda: has(b"snapdone"), 180, "the snapshots", every=1.0)
    active = "SELECT count(*) FROM pg_replication_slots WHERE active"
    wait_until(lambda: pair.execute(active)[0][0] >= 2, 60, "both stream", every=0.5)
    for statement in CHANGES:
        pair.execute(statement)
    wait_until(lambda: has(b"streamdone"), 120, "the changes", every=1.0)
    theirs, ours = (pair.records(prefix) for prefix in prefixes.values())
    assert list(ours) == list(theirs)
    for table, expected in theirs.items():
        assert ours[table] == expected, table
    print(f"\n{mode}: {sum(map(len, ours.values()))} records are equal")


def _contains(pair: Pair, topic: str, mark: bytes) -> bool:
    from confluent_kafka.admin import AdminClient

    if topic not in AdminClient({"bootstrap.servers": pair.broker.bootstrap}).list_topics(timeout=20).topics:
        return False
    return any(mark in (message.value() or b"") for message in messages(pair.broker.bootstrap, topic))


_CHANGES, _TRANSACTION = 200_000, 1_000


@pytest.mark.parametrize("cls", [_DEBEZIUM, "PostgresCdcSource"], ids=["debezium", "ours"])
def test_rate_and_memory(pair: Pair, cls: str) -> None:
    """Prints them: changes a second that were made before the connector streams, and what its processes use."""
    pair.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text NOT NULL, quantity int NOT NULL, at timestamp(3))"
    )
    prefix = unique("rate")
    topic = pair.broker.create_topic(f"{prefix}.public.items", 1)
    off = {f"{part}.converter.schemas.enable": "false" for part in ("key", "value")}
    name = pair.create(cls, prefix, **{"snapshot.mode": "no_data", **off, "table.include.list": "public.items"})
    pair.connect.wait(name, "RUNNING", ["RUNNING"], 60)
    wait_until(lambda: pair.execute("SELECT 1 FROM pg_replication_slots WHERE active"), 60, every=0.1)
    row = "SELECT n, 'item ' || lpad(n::text, 8, '0') || ' abcdefghij', n % 1000, timestamp '2024-01-01'"
    _insert(pair, row, 0, 5_000)
    wait_until(lambda: count(pair.broker.bootstrap, topic) >= 5_000, 120, every=0.1)
    before, started = usage(pair.connect.worker.pid).cpu, time.monotonic()
    _insert(pair, row, 5_000, _CHANGES)
    wait_until(lambda: count(pair.broker.bootstrap, topic) >= _CHANGES + 5_000, 300, every=0.1)
    seconds, cpu = time.monotonic() - started, usage(pair.connect.worker.pid).cpu - before
    found = list(children(pair.connect.worker.pid))
    sizes = {
        kind: [_memory(pid) for pid in found if test(pid)] for kind, test in (("slots", is_slot), ("JVMs", is_jvm))
    }
    print(f"\n{cls}: {_CHANGES / seconds:,.0f} changes/s, {cpu / _CHANGES * 1e6:.1f} s of the processor for a million")
    print(f"MB: {sizes}")


def _insert(pair: Pair, row: str, first: int, rows: int) -> None:
    import psycopg

    with psycopg.connect(pair.server.conninfo(pair.database), autocommit=True) as connection:
        for start in range(first, first + rows, _TRANSACTION):
            statement = f"INSERT INTO items {row} FROM generate_series({start}, {start + _TRANSACTION - 1}) AS n"
            connection.execute(statement.encode())


def _memory(pid: int) -> int:
    """Proportional share of the memory, in MB."""
    with Path(f"/proc/{pid}/smaps_rollup").open() as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) // 1024
