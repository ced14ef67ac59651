"""A database with a table that Debezium's connectors read and write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.recipes import recipe
from tests.support.kafka.topics import count, pairs
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tests.support.waiting import wait_until

PLAIN = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false", "poll.interval.ms": "100"}
"""JSON without schemas, and polls that wait for 0.1 s."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """A database with the table `items`, and Debezium's connectors for it."""

    connect: Connect
    broker: KafkaBroker
    server: Postgres
    database: str
    name: str = field(default_factory=lambda: unique("dbz"))

    @property
    def topic(self) -> str:
        return f"{self.name}.public.items"

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, *parameters, database=self.database)

    def source(self, **more: str) -> None:
        """Creates the source."""
        config = recipe(
            "PostgresConnector",
            **{
                **self.server.cdc_config(self.database),
                "topic.prefix": self.name,
                "slot.name": self.name.replace("-", "_"),
                "publication.name": self.name.replace("-", "_"),
            },
        )
        self.broker.create_topic(self.topic)
        self.connect.create(self.name, {**config, **more})

    def sink(self, name: str, topic: str, **more: str) -> None:
        """Creates a sink of `topic` into the table `copy`."""
        url = f"jdbc:postgresql://127.0.0.1:{self.server.port}/{self.database}?reWriteBatchedInserts=true"
        config = recipe(
            "JdbcSinkConnector",
            **{
                "topics": topic,
                "connection.url": url,
                "connection.username": USER,
                "connection.password": PASSWORD,
                "collection.name.format": "copy",
            },
        )
        self.connect.create(name, {**config, **more})

    def arrived(self, records: int, timeout: float = 180) -> None:
        """Waits until the topic has this many records."""
        try:
            wait_until(lambda: count(self.broker.bootstrap, self.topic) >= records, timeout, every=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.connect.request('GET', f'/connectors/{self.name}/status')}") from None

    def events(self) -> list[tuple[int, str | None]]:
        """Row and operation of all records; None is a tombstone."""
        return [
            (json.loads(key or b"")["id"], json.loads(value)["op"] if value else None)
            for key, value in pairs(self.broker.bootstrap, self.topic)
        ]

    def position(self) -> int:
        """The position of the server's log."""
        return int(self.execute("SELECT pg_current_wal_lsn() - '0/0'")[0][0])

    def is_confirmed(self, since: int) -> bool:
        """Whether a transaction behind this position is committed in the offsets, and PostgreSQL may discard its log
        up to there. (The offset's `lsn` may be one transaction ahead.)"""
        committed = [entry["offset"].get("lsn_commit") or 0 for entry in self.connect.offsets(self.name)]
        query = "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = %s"
        return (
            bool(committed and committed[0] > since)
            and self.execute(query, self.name.replace("-", "_"))[0][0] >= committed[0]
        )


@contextmanager
def new_inventory(connect: Connect, broker: KafkaBroker, postgres: Postgres, rows: int) -> Iterator[Inventory]:
    """A new database with this many items; all connectors of the worker are deleted at the end."""
    database = postgres.create_database(unique("inventory"))
    made = Inventory(connect, broker, postgres, database)
    made.execute("CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL, amount numeric(10,2), at timestamp(3))")
    made.execute(
        "INSERT INTO items SELECT n, 'item ' || n, n + 0.5, timestamp '2024-01-01' FROM generate_series(1, %s) AS n",
        rows,
    )
    try:
        yield made
    finally:
        for name in connect.ask("GET", "/connectors"):
            connect.ask("DELETE", f"/connectors/{name}")
        postgres.drop_slot(made.name.replace("-", "_"), database)
