"""JdbcSink: tables and columns that it creates and uses."""

from __future__ import annotations

import pytest

from runtime.api.data.schema import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import ConnectError, RetriableError
from tests.support.tasks.jdbc import SinkRun
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase
from tests.unit.runtime.connectors.jdbc.test_sink_writes import KEY, SCHEMAS, UPSERT, a_deletion, a_row, rows_of


def test_a_deletion_creates_no_table(database: TestDatabase) -> None:
    """A table with the columns of the key alone would refuse the records that follow."""
    required = struct_schema({"name": STRING_SCHEMA})
    sink = SinkRun({**database.config, **UPSERT})
    sink.put(a_deletion(1), a_deletion(2), schemas=(KEY, required))
    sink.put(({"id": 1}, {"name": "a"}), schemas=(KEY, required))
    sink.put(({"id": 3}, None), ({"id": 2}, {"name": "b"}), ({"id": 1}, None), schemas=(KEY, required))
    assert database.query("SELECT id, name FROM t") == [(2, "b")]
    assert sink.context.failed == []
    sink.stop()


def test_records_of_which_no_table_can_be_made(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, **UPSERT})
    sink.put(a_row(1, "a"), schemas=(None, None))
    ((value, message),) = sink.context.failed
    assert value == {"name": "a", "n": 0} and "cannot be created, since its records have no schema" in message
    sink.put(a_row(2, "b"), schemas=SCHEMAS)
    assert rows_of(database) == [(2, "b", 0)]
    sink.stop()


def test_new_fields_become_columns(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, **UPSERT, "auto.evolve": "true"})
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    wider = struct_schema(
        {"name": OPTIONAL_STRING_SCHEMA, 'new "col%': Schema(Type.INT32, optional=True, default=5), "d": STRING_SCHEMA}
    )
    sink.put(({"id": 2}, {"name": "b", 'new "col%': None, "d": "x"}), schemas=(KEY, wider))
    assert "the field is required and has no default" in sink.context.failed[0][1]
    wider = struct_schema({field.name: field.schema for field in wider.fields[:2]})
    sink.put(({"id": 2}, {"name": "b", 'new "col%': None}), a_row(3, "c"), schemas=(KEY, wider))
    assert database.query('SELECT id, name, "new ""col%" FROM t ORDER BY id') == [(1, "a", 5), (2, "b", 5), (3, "c", 5)]
    sink.stop()


def test_missing_tables_and_columns(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, "table.name.format": "the_${topic}"})
    with pytest.raises(ConnectError, match="The table the_t does not exist: create it"):
        sink.put(a_row(1, "a"), schemas=SCHEMAS)
    database.query("CREATE TABLE the_t (name VARCHAR(9))")
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    assert sink.context.failed == [
        ({"name": "a", "n": 0}, "The table the_t has no column n: add it, or set auto.evolve=true")
    ]
    sink.stop()


def test_a_column_that_was_added_by_hand_is_used(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (name VARCHAR(9))")
    sink = SinkRun(database.config)
    sink.put(a_row(1, "a"), a_row(2, "b"), schemas=SCHEMAS)
    assert [message for _, message in sink.context.failed] == 2 * [
        "The table t has no column n: add it, or set auto.evolve=true"
    ]
    database.query("ALTER TABLE t ADD COLUMN n INTEGER")
    sink.put(a_row(3, "c"), schemas=SCHEMAS)
    assert database.query("SELECT name, n FROM t") == [("c", 0)]
    sink.stop()


def test_the_error_of_a_column_that_cannot_be_added(postgres_db: TestDatabase) -> None:
    """A lock is waited for, in the next attempt too; another error names its reason."""
    import psycopg

    postgres_db.query("CREATE TABLE t (name VARCHAR(9))")
    url = f"{postgres_db.config['connection.url']}?options=-c%20lock_timeout%3D50ms"
    sink = SinkRun({**postgres_db.config, "connection.url": url, "auto.evolve": "true"})
    assert postgres_db.server is not None
    name = postgres_db.config["connection.url"].rpartition("/")[2]
    with psycopg.connect(postgres_db.server.conninfo(name)) as other:
        other.execute("SELECT * FROM t")
        with pytest.raises(RetriableError, match="lock timeout"):
            sink.put(a_row(1, "a"), schemas=SCHEMAS)
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    assert postgres_db.query("SELECT name, n FROM t") == [("a", 0)]
    postgres_db.query("CREATE VIEW v AS SELECT name FROM t")
    with pytest.raises(ConnectError, match="ADD COLUMN cannot be performed on relation"):
        sink.put(a_row(1, "a"), schemas=SCHEMAS, topic="v")
    sink.stop()


@pytest.mark.parametrize("schema", ["io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"])
def test_the_default_of_a_column_is_a_value_of_its_type(database: TestDatabase, schema: str) -> None:
    """Sources of changes write NOT NULL DEFAULT '1970-01-01' as the number 0."""
    day = Schema(Type.INT32, name="io.debezium.time.Date", default=1)
    at = Schema(Type.INT64, name=schema, default=0)
    value = struct_schema({"id": INT32_SCHEMA, "born": day, "made": at})
    sink = SinkRun({**database.config, "auto.create": "true", "db.timezone": "Asia/Tokyo"})
    sink.put((None, {"id": 1, "born": 1, "made": 0}), schemas=(None, value))
    database.query("INSERT INTO t (id) VALUES (2)")
    rows = [[str(item)[:19] for item in row] for row in database.query("SELECT born, made FROM t ORDER BY id")]
    assert rows == 2 * [["1970-01-02", "1970-01-01 09:00:00"]]
    sink.stop()
