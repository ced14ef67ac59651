"""JdbcSource and JdbcSink with SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Schema, struct_schema
from runtime.connectors.jdbc.sink_connector import JdbcSinkConnector
from runtime.connectors.jdbc.source_connector import JdbcSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase
from runtime.plugin_kit.conformance.case import Config

VALUE: Schema = struct_schema({"id": INT64_SCHEMA, "name": STRING_SCHEMA})


@contextmanager
def _rows(folder: Path) -> Iterator[Config]:
    file = folder / "source.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY NOT NULL, name TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"order {n}") for n in range(100)])
        connection.commit()
    yield {"connection.url": f"jdbc:sqlite:{file}"}


def _written(config: Config) -> list[int]:
    with closing(sqlite3.connect(config["connection.url"].removeprefix("jdbc:sqlite:"))) as connection:
        return [number for (number,) in connection.execute("SELECT id FROM orders")]


CASES: list[Case] = [
    SourceCase(
        connector=JdbcSourceConnector,
        config={
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "topic.prefix": "db-",
            "batch.max.rows": "7",
            "poll.interval.ms": "50",
        },
        environment=_rows,
        invalid={"mode": "sometimes", "db.timezone": "Mars/Olympus", "table.include.list": "(("},
    ),
    SinkCase(
        connector=JdbcSinkConnector,
        config={
            "topics": "orders",
            "connection.url": "jdbc:sqlite:{folder}/sink.db",
            "table.name.format": "orders",
            "insert.mode": "upsert",
            "pk.mode": "record_value",
            "pk.fields": "id",
            "auto.create": "true",
        },
        invalid={"insert.mode": "append", "pk.mode": "record"},
        schema=VALUE,
        value=lambda number: {"id": number, "name": f"order {number}"},
        written=_written,
        poison=[(STRING_SCHEMA, "not a struct")],
        exactly_once=True,
    ),
]
