"""PostgresCdcSource beside Debezium on the same changes: equal records; rate and memory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.slots import is_jvm
from tests.support.kafka.topics import count, messages
from tests.support.process_usage import pss_of, usage
from tests.support.processes import children, is_slot
from tests.support.servers.postgres import Postgres
from tests.support.tasks.cdc_comparison import MODES, Event, comparable, record
from tests.support.tasks.cdc_tables import CHANGES, TABLES
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.environ.get("HEADRACE_TEST_SIDE") == "java", reason="PostgresCdcSource is Headrace's"),
]

_DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
_JSON = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}


@dataclass(frozen=True, slots=True)
class Pair:
    """A database with the connectors of both."""

    connect: Connect
    broker: KafkaBroker
    server: Postgres
    database: str

    def create(self, cls: str, prefix: str, name: str = "", **more: str) -> str:
        """Creates a connector whose topics start with `prefix`; its name."""
        name = name or unique("pair")
        slot = name.replace("-", "_")
        self.connect.create(name, {
            "connector.class": cls, **self.server.cdc_config(self.database),
            "topic.prefix": prefix, "plugin.name": "pgoutput", "slot.name": slot, "publication.name": slot,
            "poll.interval.ms": "100", **_JSON, **more,
        })  # fmt: skip
        return name

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, database=self.database)

    def records(self, prefix: str) -> dict[str, list[Event]]:
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
        """Deletes a connector and its slot."""
        self.connect.ask("DELETE", f"/connectors/{name}")
        self.server.drop_slot(name.replace("-", "_"), self.database)


def _comparable(message: Any, prefix: str) -> Event:
    return comparable(message.key(), message.value(), message.headers() or [], prefix)


@pytest.fixture
def pair(connect: Connect, broker: KafkaBroker, postgres: Postgres) -> Iterator[Pair]:
    made = Pair(connect, broker, postgres, postgres.create_database(unique("pair")))
    yield made
    for name in connect.ask("GET", "/connectors"):
        made.remove(name)


@pytest.mark.parametrize("mode", MODES)
def test_equal_records(pair: Pair, mode: str) -> None:
    """All types, keys, replica identities, changes of tables; keys, values, schemas and headers. With
    HEADRACE_RECORDED=update, Debezium's are kept for the unit tests."""
    for statement in TABLES:
        pair.execute(statement)
    prefixes = {cls: unique(mode) for cls in (_DEBEZIUM, "PostgresCdcSource")}
    for cls, prefix in prefixes.items():
        pair.create(cls, prefix, **MODES[mode])

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
    if os.environ.get("HEADRACE_RECORDED") == "update":
        record(mode, theirs)
    for table, expected in theirs.items():
        assert ours[table] == expected, table
    print(f"\n{mode}: {sum(map(len, ours.values()))} records are equal")


def _contains(pair: Pair, topic: str, mark: bytes) -> bool:
    from confluent_kafka.admin import AdminClient

    if topic not in AdminClient({"bootstrap.servers": pair.broker.bootstrap}).list_topics(timeout=20).topics:
        return False
    return any(mark in (message.value() or b"") for message in messages(pair.broker.bootstrap, topic))


def test_continue_where_debezium_ended(pair: Pair) -> None:
    """With the same name, slot and publication: nothing is lost, and at most the last transaction is repeated."""
    pair.execute("CREATE TABLE items (id int PRIMARY KEY)")
    pair.execute("INSERT INTO items SELECT generate_series(1, 10)")
    prefix = unique("moved")
    topic = pair.broker.create_topic(f"{prefix}.public.items", 1)
    name = pair.create(_DEBEZIUM, prefix, **{"offset.flush.interval.ms": "500"})
    wait_until(lambda: count(pair.broker.bootstrap, topic) == 10, 120, every=0.5)
    pair.execute("INSERT INTO items VALUES (11)")
    pair.execute("INSERT INTO items VALUES (12)")
    wait_until(lambda: count(pair.broker.bootstrap, topic) == 12, 60, every=0.5)
    pair.connect.ask("DELETE", f"/connectors/{name}")
    pair.execute("INSERT INTO items VALUES (13), (14)")
    pair.create("PostgresCdcSource", prefix, name=name)
    pair.execute("INSERT INTO items VALUES (15)")
    wait_until(lambda: _ids(pair, topic)[-1] == 15, 60, every=0.5)
    assert _ids(pair, topic) in ([*range(1, 16)], [*range(1, 13), *range(12, 16)])


def _ids(pair: Pair, topic: str) -> list[int]:
    return [json.loads(message.key())["payload"]["id"] for message in messages(pair.broker.bootstrap, topic)]


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
        kind: [pss_of(pid) >> 20 for pid in found if test(pid)] for kind, test in (("slots", is_slot), ("JVMs", is_jvm))
    }
    print(f"\n{cls}: {_CHANGES / seconds:,.0f} changes/s, {cpu / _CHANGES * 1e6:.1f} s of the processor for a million")
    print(f"MB: {sizes}")


def _insert(pair: Pair, row: str, first: int, rows: int) -> None:
    import psycopg

    with psycopg.connect(pair.server.conninfo(pair.database), autocommit=True) as connection:
        for start in range(first, first + rows, _TRANSACTION):
            statement = f"INSERT INTO items {row} FROM generate_series({start}, {start + _TRANSACTION - 1}) AS n"
            connection.execute(statement.encode())
