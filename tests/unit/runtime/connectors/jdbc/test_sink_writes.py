"""What a sink writes, on a real PostgreSQL and on SQLite."""

from __future__ import annotations

import datetime as dt
import math
import resource
import traceback
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import ConstantColumn, ValueBatch
from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import (
    BYTES_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import ConnectError, RetriableError
from runtime.connectors.jdbc.sink.statements import StatementWriter
from runtime.connectors.jdbc.sink_config import InsertMode
from runtime.connectors.jdbc.tables import TableId
from tests.support.tasks.jdbc import SinkRun
from tests.support.tasks.python_messages import Message
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

KEY = struct_schema({"id": INT32_SCHEMA})
VALUE = struct_schema({"name": OPTIONAL_STRING_SCHEMA, "n": OPTIONAL_INT64_SCHEMA})
SCHEMAS = (KEY, VALUE)
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.create": "true"}


def a_row(number: int, name: str | None, n: int | None = 0) -> tuple[Any, Any]:
    return {"id": number}, {"name": name, "n": n}


def a_deletion(number: int) -> tuple[Any, Any]:
    return {"id": number}, None


def rows_of(database: TestDatabase) -> list[tuple[Any, ...]]:
    return database.query("SELECT id, name, n FROM t ORDER BY id")


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_a_record_that_violates_a_deferred_constraint_costs_only_itself(postgres_db: TestDatabase, mode: str) -> None:
    """PostgreSQL checks it when the batch is committed: a later record may satisfy it."""
    postgres_db.query("CREATE TABLE t (id INT8 PRIMARY KEY, n INT8 REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED)")
    config = {**postgres_db.config, "insert.mode": mode, "pk.mode": "record_value", "pk.fields": "id"}
    schemas = (None, struct_schema({"id": INT64_SCHEMA, "n": OPTIONAL_INT64_SCHEMA}))
    rows: list[tuple[Any, Any]] = [(1, 5), (2, None), (3, 99), (4, 3), (5, 2)]
    sink = SinkRun(config)
    sink.put(*[(None, {"id": number, "n": n}) for number, n in rows], schemas=schemas)
    assert postgres_db.query("SELECT * FROM t ORDER BY id") == [rows[0], rows[1], rows[4]]
    assert [value["id"] for value, _ in sink.context.failed] == [3, 4]
    assert "violates foreign key constraint" in sink.context.failed[0][1]
    sink.stop()
    strict = SinkRun(config, tolerates=False)
    with pytest.raises(ConnectError, match=r"at offset 1 cannot be written to t: .* violates foreign key"):
        strict.put((None, {"id": 6, "n": 98}), schemas=schemas)
    strict.stop()


def test_each_record_is_reported_once_beside_one_that_violates_a_deferred_constraint(
    postgres_db: TestDatabase,
) -> None:
    postgres_db.query(
        "CREATE TABLE t (id INT8 PRIMARY KEY, n INT8 REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED, CHECK (id < 100))"
    )
    config = {**postgres_db.config, "insert.mode": "insert", "pk.mode": "record_value", "pk.fields": "id"}
    schemas = (None, struct_schema({"id": INT64_SCHEMA, "n": OPTIONAL_INT64_SCHEMA}))
    rows: list[tuple[Any, Any]] = [(1, None), (200, None), (2, 99), (3, 200), (4, 1)]
    sink = SinkRun(config)
    sink.put(*[(None, {"id": number, "n": n}) for number, n in rows], schemas=schemas)
    assert postgres_db.query("SELECT * FROM t ORDER BY id") == [rows[0], rows[4]]
    assert sorted(value["id"] for value, _ in sink.context.failed) == [2, 3, 200]
    sink.stop()


def test_the_last_record_of_a_key_wins(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, **UPSERT})
    changes = (a_row(1, "a"), a_row(2, "b"), a_row(1, "c"), a_deletion(2), a_row(3, "d"), a_deletion(3), a_row(3, "e"))
    sink.put(*changes, schemas=SCHEMAS)
    assert rows_of(database) == [(1, "c", 0), (3, "e", 0)]
    sink.put(a_row(3, "f"), a_deletion(1), a_deletion(9), schemas=SCHEMAS)
    assert rows_of(database) == [(3, "f", 0)]
    sink.put(a_deletion(3), schemas=SCHEMAS)
    assert rows_of(database) == []
    sink.stop()


def test_a_row_that_was_deleted_in_between_keeps_no_old_values(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, **UPSERT})
    sink.put(a_row(1, "a", 5), schemas=SCHEMAS)
    only_name = struct_schema({"name": OPTIONAL_STRING_SCHEMA})
    sink.put(a_deletion(1), ({"id": 1}, {"name": "b"}), schemas=(KEY, only_name))
    assert rows_of(database) == [(1, "b", None)]
    sink.stop()


def test_columns_of_a_batch(database: TestDatabase) -> None:
    """A SinkBatch is written from its columns: no record is created."""
    sink = SinkRun({**database.config, "auto.create": "true", "insert.mode": "upsert", "pk.mode": "kafka"})
    values = ValueBatch.struct(VALUE, {"name": ["a", "b"], "n": [1, 2]}, 2)
    batch = SinkBatch(
        "t", [Message(7, None), Message(8, None)], ValueBatch(None, ConstantColumn(None, 2)), values, [None, None]
    )
    for _ in range(2):
        sink.task.put(batch)
    rows = database.query("SELECT __connect_topic, __connect_partition, __connect_offset, name, n FROM t ORDER BY 3")
    assert rows == [("t", 0, 7, "a", 1), ("t", 0, 8, "b", 2)]
    assert batch._records is None
    sink.stop()


def test_update_changes_only_rows_that_exist(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9), n INTEGER)")
    database.query("INSERT INTO t VALUES (1, 'old', 1), (2, 'old', 2)")
    sink = SinkRun({**database.config, **UPSERT, "insert.mode": "update"})
    sink.put(a_row(1, "a"), a_row(1, "new"), a_row(5, "none"), a_deletion(2), a_row(2, "none"), schemas=SCHEMAS)
    assert rows_of(database) == [(1, "new", 0)]
    sink.stop()


def test_insert_without_a_key(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, "auto.create": "true"})
    sink.put((None, {"name": "a", "n": 1}), (None, {"name": "a", "n": 1}), schemas=(None, VALUE))
    assert database.query("SELECT name, n FROM t") == [("a", 1), ("a", 1)]
    sink.stop()


def test_insert_keeps_the_order_of_deletions(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, **UPSERT, "insert.mode": "insert"})
    sink.put(a_row(1, "a"), a_deletion(1), a_row(1, "b"), a_row(2, "c"), schemas=SCHEMAS)
    assert rows_of(database) == [(1, "b", 0), (2, "c", 0)]
    sink.stop()


def test_keys_that_are_not_structs(database: TestDatabase) -> None:
    config = {**UPSERT, "pk.fields": "id", "fields.include.list": "name"}
    sink = SinkRun({**database.config, **config})
    sink.put((1, {"name": "a", "n": 5}), (2, {"name": "b", "n": 5}), (1, None), schemas=(INT32_SCHEMA, VALUE))
    assert database.query("SELECT * FROM t") == [(2, "b")]
    sink.stop()


def test_keys_of_several_fields_of_the_value(database: TestDatabase) -> None:
    value = struct_schema({"a": STRING_SCHEMA, "b": INT32_SCHEMA, "c": INT64_SCHEMA})
    config = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "b,a", "auto.create": "true"}
    sink = SinkRun({**database.config, **config})
    rows = [(None, {"a": a, "b": b, "c": c}) for a, b, c in (("x", 1, 1), ("x", 2, 2), ("x", 1, 3))]
    sink.put(*rows, schemas=(None, value))
    assert database.query("SELECT a, b, c FROM t ORDER BY b") == [("x", 1, 3), ("x", 2, 2)]
    sink.stop()


@pytest.mark.parametrize("value", [5, [{"name": "a"}], "text", True])
def test_a_value_without_a_schema_that_is_no_map(database: TestDatabase, value: object) -> None:
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9))")
    sink = SinkRun({**database.config, **UPSERT})
    sink.put(({"id": 1}, value), ({"id": 2}, None), ({"id": 3}, {"name": "c"}), schemas=(None, None))
    assert database.query("SELECT id, name FROM t") == [(3, "c")]
    assert sink.context.failed == [(value, "The value is not a struct or map")]
    sink.stop()


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "records"])
def test_the_place_of_a_record_is_that_where_it_was_read(database: TestDatabase, batch: bool) -> None:
    """A transformation may give records of several topics one topic, and so one table."""
    sink = SinkRun({**database.config, "auto.create": "true", "insert.mode": "upsert", "pk.mode": "kafka"})
    topics = ["north.orders", "south.orders"]
    messages = [Message(7, None, _topic=topic) for topic in topics]
    if batch:
        values = ValueBatch.struct(VALUE, {"name": topics, "n": [0, 1]}, 2)
        sink.task.put(SinkBatch("orders", messages, ValueBatch(None, ConstantColumn(None, 2)), values, [None, None]))
    else:
        for number, message in enumerate(messages):
            value = {"name": topics[number], "n": number}
            sink.task.put([SinkRecord("orders", 0, None, None, VALUE, value, 7, source=message)])
    rows = database.query("SELECT __connect_topic, __connect_partition, __connect_offset, n FROM orders ORDER BY n")
    assert rows == [("north.orders", 0, 7, 0), ("south.orders", 0, 7, 1)]
    sink.stop()


def test_one_bad_record_does_not_stop_the_others(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9), n INTEGER CHECK (n >= 0))")
    sink = SinkRun({**database.config, **UPSERT})
    rows = [a_row(number, "x", -1 if number == 37 else number) for number in range(100)]
    sink.put(*rows, ({"id": 100}, "no struct"), (None, {"name": "no key", "n": 1}), a_row(101, "y"), schemas=SCHEMAS)
    assert [number for number, _, _ in rows_of(database)] == [n for n in range(102) if n not in (37, 100)]
    assert [value for value, _ in sink.context.failed] == ["no struct", {"name": "no key", "n": 1}, rows[37][1]]
    assert "t-0 at offset 38 cannot be written to t" in sink.context.failed[-1][1]
    sink.stop()


@pytest.mark.parametrize("schema", [Schema(Type.FLOAT64), None], ids=["with a schema", "without"])
def test_nan_and_infinities(database: TestDatabase, schema: Schema | None) -> None:
    """PostgreSQL stores them; SQLite would store null, and drivers of MariaDB refuse the whole batch."""
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY, f DOUBLE PRECISION)")
    sink = SinkRun(database.config)
    value = None if schema is None else struct_schema({"id": INT32_SCHEMA, "f": schema})
    numbers = [0.5, math.nan, math.inf, 1.5]
    sink.put(*[(None, {"id": n, "f": number}) for n, number in enumerate(numbers)], schemas=(None, value))
    refused = {"postgresql": [], "sqlite": [1], "mariadb": [1, 2]}[database.kind]
    assert [record["id"] for record, _ in sink.context.failed] == refused
    for record, message in sink.context.failed:
        assert f"{record['f']} is a number that the database cannot store" in message
    stored: dict[int, float] = dict(database.query("SELECT id, f FROM t"))
    assert {n: repr(number) for n, number in stored.items()} == {
        n: repr(number) for n, number in enumerate(numbers) if n not in refused
    }
    sink.stop()


def test_a_required_new_field_costs_only_its_records(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    required = struct_schema({"id": INT32_SCHEMA, "n": INT32_SCHEMA})
    fine = struct_schema({"id": INT32_SCHEMA})
    sink = SinkRun({**database.config, "auto.evolve": "true"})
    bad, good = {"id": 1, "n": 1}, {"id": 2}
    sink.task.put([sink.record(None, bad, (None, required), "t"), sink.record(None, good, (None, fine), "t")])
    assert database.query("SELECT id FROM t") == [(2,)]
    ((value, message),) = sink.context.failed
    assert value == bad
    assert "has no column n, and it cannot be added because the field is required and has no default" in message
    with pytest.raises(ConnectError, match="has no column n, and it cannot be added"):
        SinkRun({**database.config, "auto.evolve": "true"}, tolerates=False).put((None, bad), schemas=(None, required))
    sink.stop()


def test_a_bad_record_fails_the_task_unless_errors_are_tolerated(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9), n INTEGER CHECK (n >= 0))")
    sink = SinkRun({**database.config, **UPSERT}, tolerates=False)
    with pytest.raises(ConnectError, match="t-0 at offset 2 cannot be written to t"):
        sink.put(a_row(1, "a"), a_row(2, "b", -1), schemas=SCHEMAS)
    assert rows_of(database) == [], "the batch is rolled back"
    with pytest.raises(ConnectError, match="A record with a null value cannot be written"):
        SinkRun({**database.config, "table.name.format": "t"}, tolerates=False).put(a_deletion(1), schemas=SCHEMAS)
    sink.stop()


def test_a_time_beyond_a_day_is_an_error(sqlite_db: TestDatabase) -> None:
    """24:00, which PostgresCdcSource reads, is not 00:00."""
    day = 24 * 3600 * 1_000_000
    value = struct_schema({"t": Schema(Type.INT64, name="io.debezium.time.MicroTime")})
    sink = SinkRun({**sqlite_db.config, "auto.create": "true"})
    sink.put(*((None, {"t": micros}) for micros in (0, day - 1, day, -1)), schemas=(None, value))
    assert sqlite_db.query("SELECT t FROM t ORDER BY t") == [("00:00:00",), ("23:59:59.999999",)]
    assert [value["t"] for value, _ in sink.context.failed] == [day, -1]
    sink.stop()


def test_a_name_without_quotes_cannot_be_a_statement(sqlite_db: TestDatabase) -> None:
    config = {**sqlite_db.config, "auto.create": "true", "auto.evolve": "true", "quote.sql.identifiers": "NEVER"}
    sink = SinkRun({**config, "table.name.format": "t"})
    sink.put((None, {"id": 1}), schemas=(None, struct_schema({"id": OPTIONAL_STRING_SCHEMA})))
    hostile = "x TEXT DEFAULT 'a' --"
    sink.put((None, {hostile: "a"}), schemas=(None, struct_schema({hostile: OPTIONAL_STRING_SCHEMA})))
    assert [column[1] for column in sqlite_db.query("PRAGMA table_info(t)")] == ["id"]
    assert [value for value, _ in sink.context.failed] == [{hostile: "a"}]
    sink.stop()


def test_types_in_both_directions(database: TestDatabase) -> None:
    """Tables that the sink creates hold the values exactly."""
    noon = dt.datetime(2024, 2, 29, 12, 0, 0, 123000, tzinfo=dt.UTC)
    fields: dict[str, tuple[Schema, Any, Any, Any]] = {
        "i8": (Schema(Type.INT8), -128, -128, -128),
        "i64": (INT64_SCHEMA, 1 << 62, 1 << 62, 1 << 62),
        "f": (Schema(Type.FLOAT64), 0.1, 0.1, 0.1),
        "b": (Schema(Type.BOOLEAN), True, True, 1),
        "s": (STRING_SCHEMA, "ä\t\\N\n", "ä\t\\N\n", "ä\t\\N\n"),
        "x": (BYTES_SCHEMA, b"\x00\xff\\", b"\x00\xff\\", b"\x00\xff\\"),
        "dec": (decimal_schema(20), Decimal("1234567890.12345678901234567890"),
                Decimal("1234567890.12345678901234567890"), 1234567890.1234567),  # SQLite has no exact decimals
        "d": (DATE_SCHEMA, dt.date(2024, 2, 29), dt.date(2024, 2, 29), "2024-02-29"),
        "t": (TIME_SCHEMA, dt.time(12, 34, 56), dt.time(12, 34, 56), "12:34:56"),
        "ts": (TIMESTAMP_SCHEMA, noon, noon.replace(tzinfo=None), "2024-02-29 12:00:00.123"),
        "a": (Schema(Type.ARRAY, values=OPTIONAL_STRING_SCHEMA), ["a,b", None, '"'], ["a,b", None, '"'],
              '["a,b",null,"\\""]'),
        "m": (Schema(Type.MAP, keys=STRING_SCHEMA, values=INT32_SCHEMA), {"k": 1}, {"k": 1}, '{"k":1}'),
        "st": (struct_schema({"x": INT32_SCHEMA}), {"x": 1}, {"x": 1}, '{"x":1}'),
        "micro": (Schema(Type.INT64, name="io.debezium.time.MicroTimestamp"), 1709208000123456,
                  noon.replace(tzinfo=None, microsecond=123456), "2024-02-29 12:00:00.123456"),
        "days": (Schema(Type.INT32, name="io.debezium.time.Date"), 19782, dt.date(2024, 2, 29), "2024-02-29"),
        "vd": (Schema(Type.STRUCT, name="io.debezium.data.VariableScaleDecimal"), {"scale": 1, "value": b"\x0f"},
               Decimal("1.5"), 1.5),
        "wide": (Schema(Type.STRUCT, name="io.debezium.data.VariableScaleDecimal"),
                 {"scale": 5, "value": (10**35 + 1).to_bytes(15, "big")},
                 Decimal("1000000000000000000000000000000.00001"), 1e30),
    }  # fmt: skip
    value = struct_schema({name: schema.replace(optional=True) for name, (schema, *_) in fields.items()})
    sink = SinkRun({**database.config, "auto.create": "true"}, tolerates=False)
    sink.put(
        (None, {name: given for name, (_, given, *_) in fields.items()}),
        (None, dict.fromkeys(fields)),
        schemas=(None, value),
    )
    exact = {"postgresql": fields.keys(), "mariadb": fields.keys() - {"a", "m", "st"}, "sqlite": ()}[database.kind]
    expected = [found[2] if name in exact else found[3] for name, found in fields.items()]
    if database.kind == "mariadb":
        expected[list(fields).index("t")] = dt.timedelta(hours=12, minutes=34, seconds=56)  # as PyMySQL returns it
    first, second = sorted(database.query("SELECT * FROM t"), key=lambda row: row[0] is None)
    for name, one, wanted in zip(fields, first, expected, strict=True):
        assert one == wanted, name
    assert set(second) == {None}
    sink.stop()


def test_values_without_schemas_are_converted_by_the_columns(postgres_db: TestDatabase) -> None:
    postgres_db.query("CREATE TABLE t (id int PRIMARY KEY, at timestamptz, doc jsonb, tags text[], ok int, u uuid)")
    sink = SinkRun({**postgres_db.config, "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"})
    uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    value = {"id": 1, "at": "2024-02-29T12:00:00Z", "doc": {"a": [1]}, "tags": ["x", "y"], "ok": True, "u": uuid}
    sink.put((None, value), schemas=(None, None))
    assert postgres_db.query("SELECT id, at, doc, tags, ok, u::text FROM t") == [
        (1, dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), {"a": [1]}, ["x", "y"], 1, uuid)
    ]
    sink.stop()


def test_timestamps_in_the_time_zone_of_the_database(database: TestDatabase) -> None:
    database.query("CREATE TABLE t (at TIMESTAMP, d DATE)")
    value = struct_schema({"at": TIMESTAMP_SCHEMA, "d": TIMESTAMP_SCHEMA})
    late = dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC)
    sink = SinkRun({**database.config, "db.timezone": "Europe/Berlin"})
    sink.put((None, {"at": late, "d": late}), schemas=(None, value))
    assert [str(one)[:16] for one in database.query("SELECT * FROM t")[0]] == ["2024-03-01 00:30", "2024-03-01"]
    sink.stop()


def test_a_lost_connection_is_retried(postgres_db: TestDatabase) -> None:
    sink = SinkRun({**postgres_db.config, **UPSERT, "max.retries": "1"})
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'headrace' AND datname = current_database()"
    )
    for number in (2, 3):
        postgres_db.query(end)
        with pytest.raises(RetriableError, match="terminat"):
            sink.put(a_row(number, "b"), schemas=SCHEMAS)
        sink.put(a_row(number, "b"), schemas=SCHEMAS)
    assert [number for number, _, _ in rows_of(postgres_db)] == [1, 2, 3]
    postgres_db.query("ALTER TABLE t RENAME TO other")
    with pytest.raises(RetriableError, match="does not exist"):
        sink.put(a_row(4, "c"), schemas=SCHEMAS)
    postgres_db.query("ALTER TABLE other RENAME TO t")
    sink.put(a_row(4, "c"), schemas=SCHEMAS)
    assert len(rows_of(postgres_db)) == 4
    assert sink.context.delays == [3.0] * 3
    sink.stop()


def test_retries_are_limited(sqlite_db: TestDatabase, tmp_path: Any) -> None:
    import sqlite3

    sink = SinkRun({"connection.url": f"{sqlite_db.config['connection.url']}", **UPSERT, "max.retries": "0"})
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    sqlite_db.query("DROP TABLE t")
    sqlite_db.query("CREATE TABLE t (other INTEGER)")
    with sqlite3.connect(tmp_path / "unit.db"), pytest.raises(ConnectError, match=r"max\.retries=0"):
        sink.put(a_row(2, "b"), schemas=SCHEMAS)
    sink.stop()


def test_the_error_of_a_full_disk_is_not_hidden_by_that_of_its_savepoint(sqlite_db: TestDatabase) -> None:
    """SQLite then ends the transaction itself. The batch is larger than its cache."""
    sink = SinkRun({**sqlite_db.config, **UPSERT})
    sink.put(a_row(1, "a"), schemas=SCHEMAS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(ConnectError, match="disk I/O error"):
            sink.put(*(a_row(number, "x" * 100_000) for number in range(2, 60)), schemas=SCHEMAS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sink.put(a_row(2, "b"), schemas=SCHEMAS)
    assert rows_of(sqlite_db) == [(1, "a", 0), (2, "b", 0)]
    sink.stop()


def test_a_batch_that_a_full_disk_refuses_is_written_later(
    sqlite_db: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    from sqlite3 import dbapi2

    connect, pages = dbapi2.connect, 10
    monkeypatch.setattr(dbapi2, "connect", small)
    sink = SinkRun({**sqlite_db.config, **UPSERT})
    batch = [sink.record(*a_row(number, "x" * 10_000), SCHEMAS, "t") for number in range(10)]
    with pytest.raises(RetriableError, match="database or disk is full"):
        sink.task.put(batch)
    pages = 1000
    sink.task.put(batch)
    assert len(rows_of(sqlite_db)) == 10
    sink.stop()


@pytest.mark.parametrize("others", [True, False])
def test_upserts_of_databases_without_an_upsert(sqlite_db: TestDatabase, others: bool) -> None:
    """Rows are updated, and inserted where nothing was updated."""
    import sqlalchemy as sa

    sqlite_db.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    sqlite_db.query("INSERT INTO t VALUES (1, 'old')")
    names = ["id", "name"] if others else ["id"]
    writer = StatementWriter(TableId(None, "t"), names, ["id"], InsertMode.UPSERT, "some database", True)
    engine = sa.create_engine(sqlite_db.config["connection.url"].replace("jdbc:sqlite:", "sqlite:///"))
    with engine.begin() as connection:
        columns: list[list[Any]] = [[1, 2], ["a", "b"]]
        writer.write(connection, columns[: len(names)])
        writer.delete(connection, [[3]])
    engine.dispose()
    assert sqlite_db.query("SELECT * FROM t") == ([(1, "a"), (2, "b")] if others else [(1, "old"), (2, None)])


def test_a_case_insensitive_key_that_occurs_twice(postgres_db: TestDatabase) -> None:
    """The database finds keys equal that Python does not: the rows are written one after another."""
    postgres_db.query("CREATE TABLE t (id int PRIMARY KEY, name text)")
    value = struct_schema({"id": STRING_SCHEMA, "name": STRING_SCHEMA})
    config = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
    sink = SinkRun({**postgres_db.config, **config})
    sink.put((None, {"id": "1", "name": "a"}), (None, {"id": "01", "name": "b"}), schemas=(None, value))
    assert postgres_db.query("SELECT * FROM t") == [(1, "b")]
    assert sink.context.failed == []
    sink.stop()


def test_records_of_several_topics(database: TestDatabase) -> None:
    sink = SinkRun({**database.config, "auto.create": "true", "table.name.format": "to_${topic}"})
    topics = ("a", "b", "a")
    sink.task.put([SinkRecord(topic, 0, None, None, VALUE, {"name": topic, "n": 1}, 1) for topic in topics])
    assert len(database.query("SELECT * FROM to_a")) == 2 and len(database.query("SELECT * FROM to_b")) == 1
    sink.stop()


def test_a_refused_password_is_not_repeated(postgres_db: TestDatabase) -> None:
    config = {**postgres_db.config, "connection.password": "wrong-secret", "connection.attempts": "1"}
    url = config["connection.url"].replace("jdbc:postgresql://", "postgresql://headrace:wrong-secret@")
    for broken in (config, {"connection.url": url, "connection.attempts": "1"}):
        with pytest.raises(ConnectError, match="password authentication failed") as raised:
            SinkRun(broken)
        assert "wrong-secret" not in "".join(traceback.format_exception(raised.value))
