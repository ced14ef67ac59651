"""What is special about MariaDB and MySQL, on a real MariaDB."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, TIMESTAMP_SCHEMA
from runtime.api.data.record import ErrantSourceRecord
from runtime.api.data.schema import BYTES_SCHEMA, INT32_SCHEMA, STRING_SCHEMA, Schema, Type, struct_schema
from runtime.api.data.validate import validate_struct
from tests.support.servers.mariadb import MariaDb
from tests.support.tasks.jdbc import SinkRun, SourceRun, SourceTestContext, read_once
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.UTC)
TYPES: list[tuple[str, str, Type, str | None, Any]] = [
    ("boolean", "true", Type.BOOLEAN, None, True),
    ("bit(1)", "b'0'", Type.BOOLEAN, None, False),
    ("bit(9)", "b'100000001'", Type.BYTES, None, b"\x01\x01"),
    ("tinyint", "-128", Type.INT8, None, -128),
    ("tinyint unsigned", "255", Type.INT16, None, 255),
    ("smallint", "-32768", Type.INT16, None, -32768),
    ("smallint unsigned", "65535", Type.INT32, None, 65535),
    ("mediumint unsigned", "16777215", Type.INT32, None, 16777215),
    ("int", "-2147483648", Type.INT32, None, -(1 << 31)),
    ("int unsigned", "4294967295", Type.INT64, None, (1 << 32) - 1),
    ("bigint", "-9223372036854775808", Type.INT64, None, -(1 << 63)),
    ("bigint unsigned", "18446744073709551615", Type.BYTES, DECIMAL, Decimal((1 << 64) - 1)),
    ("year", "2024", Type.INT32, None, 2024),
    ("float", "1.5", Type.FLOAT32, None, 1.5),
    ("double", "0.1", Type.FLOAT64, None, 0.1),
    ("decimal(60,30)", "0.123456789012345678901234567891", Type.BYTES, DECIMAL,
     Decimal("0.123456789012345678901234567891")),
    ("varchar(10)", "'Straße 🚲'", Type.STRING, None, "Straße 🚲"),
    ("longtext", "'a'", Type.STRING, None, "a"),
    ("varbinary(9)", "x'00ff'", Type.BYTES, None, b"\x00\xff"),
    ("longblob", "x'00ff'", Type.BYTES, None, b"\x00\xff"),
    ("enum('a','b')", "'b'", Type.STRING, None, "b"),
    ("set('a','b')", "'a,b'", Type.STRING, None, "a,b"),
    ("json", """'{"a":  1}'""", Type.STRING, None, '{"a":  1}'),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", Type.STRING, "io.debezium.data.Uuid",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("date", "'2024-02-29'", Type.INT32, DATE, dt.date(2024, 2, 29)),
    ("time(6)", "'12:34:56.789'", Type.INT32, TIME, dt.time(12, 34, 56, 789000)),
    ("datetime(6)", "'2024-02-29 12:00:00.123456'", Type.INT64, TIMESTAMP, NOON),
    ("timestamp(6) NULL", "'2024-02-29 14:00:00.123456'", Type.INT64, TIMESTAMP, NOON),  # inserted in +02:00
]  # fmt: skip


def test_types_of_mariadb(mariadb_db: TestDatabase) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(TYPES))
    mariadb_db.query(f"CREATE TABLE t (id int PRIMARY KEY, {columns})")
    mariadb_db.query(f"INSERT INTO t VALUES (1, {', '.join(literal for _, literal, *_ in TYPES)})")
    mariadb_db.query("INSERT INTO t (id) VALUES (2)")
    values, nulls = read_once({**mariadb_db.config, "mode": "incrementing", "incrementing.column.name": "id"})
    schema = values.value_schema
    assert schema is not None and schema is nulls.value_schema
    for field, (kind, _, type_, name, expected) in zip(schema.fields[1:], TYPES, strict=True):
        assert (field.schema.type, field.schema.name) == (type_, name), kind
        assert values.value[field.name] == expected, kind
        assert type(values.value[field.name]) is type(expected), kind
        assert nulls.value[field.name] is None, kind
    validate_struct(schema, values.value)


def test_columns_of_points_in_time_and_of_local_times(mariadb_db: TestDatabase, mariadb: MariaDb) -> None:
    """TIMESTAMP columns do not depend on db.timezone, DATETIME columns do; in both directions and as offsets."""
    name = mariadb_db.config["connection.url"].rpartition("/")[2]
    table = "(id int PRIMARY KEY, instant timestamp(6) NOT NULL DEFAULT 0, local datetime(6) NOT NULL)"
    for number in (1, 2):
        mariadb.execute(f"CREATE TABLE t{number} {table}", name)
    mariadb.execute("INSERT INTO t1 VALUES (1, '2024-02-29 14:00:00.123456', '2024-02-29 07:00:00.123456')", name)
    mariadb.execute("INSERT INTO t1 VALUES (2, '2024-02-29 15:00:00', '2024-02-29 08:00:00')", name)
    for column in ("instant", "local"):
        config = {
            **mariadb_db.config, "mode": "timestamp", "timestamp.column.name": column, "table.whitelist": "t1",
            "db.timezone": "America/New_York",
        }  # fmt: skip
        records = read_once(config)
        assert [(record.value["instant"], record.value["local"]) for record in records] == [
            (NOON, NOON), (NOON.replace(hour=13, microsecond=0), NOON.replace(hour=13, microsecond=0)),
        ]  # fmt: skip
        context = SourceTestContext()
        context.commit(records[:1])
        assert [record.value["id"] for record in read_once(config, context)] == [2]
    value = struct_schema({"id": INT32_SCHEMA, "instant": TIMESTAMP_SCHEMA, "local": TIMESTAMP_SCHEMA})
    sink = SinkRun({**mariadb_db.config, "table.name.format": "t2", "db.timezone": "America/New_York"})
    moment = NOON.astimezone(dt.timezone(dt.timedelta(hours=5)))
    sink.put((None, {"id": 1, "instant": moment, "local": moment}), schemas=(None, value))
    sink.stop()
    wanted = "SELECT instant, local FROM {} WHERE id = 1"
    assert mariadb.execute(wanted.format("t2"), name) == mariadb.execute(wanted.format("t1"), name)


def test_texts_and_bytes_of_any_size_and_as_keys(mariadb_db: TestDatabase) -> None:
    value = struct_schema({"text": STRING_SCHEMA, "raw": BYTES_SCHEMA, "m": Schema(Type.MAP, keys=STRING_SCHEMA,
                                                                                   values=STRING_SCHEMA)})  # fmt: skip
    config = {"insert.mode": "upsert", "pk.mode": "record_key", "auto.create": "true"}
    key = struct_schema({"name": STRING_SCHEMA, "code": BYTES_SCHEMA})
    sink = SinkRun({**mariadb_db.config, **config}, tolerates=False)
    large = {"text": "ä" * 100_000, "raw": b"\xff" * 100_000, "m": {"k": "v" * 100_000}}
    for _ in range(2):
        sink.put(({"name": "a", "code": b"\x01"}, large), schemas=(key, value))
    assert mariadb_db.query("SELECT CHAR_LENGTH(text), LENGTH(raw), LENGTH(m) FROM t") == [(100_000, 100_000, 100_008)]
    sink.stop()


@pytest.mark.parametrize(
    "column", ["n tinyint", "n int REFERENCES parent", "n int CHECK (n < 9)", "n int UNIQUE", "n int NOT NULL"]
)
def test_errors_of_rows_go_to_the_reporter(column: str, mariadb_db: TestDatabase) -> None:
    mariadb_db.query("CREATE TABLE parent (n int PRIMARY KEY)")
    mariadb_db.query("INSERT INTO parent VALUES (1), (2), (3)")
    foreign = ", FOREIGN KEY (n) REFERENCES parent (n)" if "REFERENCES" in column else ""
    mariadb_db.query(f"CREATE TABLE t (id int PRIMARY KEY, {column.replace('REFERENCES parent', '')}{foreign})")
    value = struct_schema({"id": INT32_SCHEMA, "n": Schema(Type.INT32, optional=True)})
    wrong = {"UNIQUE": 1, "NULL": None}.get(column.rpartition(" ")[2], 1000)
    sink = SinkRun({**mariadb_db.config, "insert.mode": "insert"})
    rows: list[tuple[Any, Any]] = [(None, {"id": n, "n": wrong if n == 2 else n}) for n in (1, 2, 3)]
    sink.put(*rows, schemas=(None, value))
    assert mariadb_db.query("SELECT id FROM t ORDER BY id") == [(1,), (3,)]
    assert [record["id"] for record, _ in sink.context.failed] == [2]
    sink.stop()


def test_times_beyond_a_day_are_refused(mariadb_db: TestDatabase) -> None:
    mariadb_db.query("CREATE TABLE t (t time)")
    mariadb_db.query("INSERT INTO t VALUES ('25:00:00')")
    (record,) = read_once(mariadb_db.config)
    assert isinstance(record, ErrantSourceRecord)
    assert "the column t of t is not of type time" in str(record.error)


def test_zero_dates(mariadb_db: TestDatabase) -> None:
    mariadb_db.query(
        "CREATE TABLE t (id int PRIMARY KEY, d date NOT NULL, at datetime NOT NULL, ts timestamp NOT NULL)"
    )
    mariadb_db.query("INSERT INTO t VALUES (1, '2024-02-29', '2024-02-29 12:00:00', '2024-02-29 14:00:00')")
    mariadb_db.query("INSERT INTO t VALUES (2, 0, 0, 0), (3, '2024-00-00', '2024-02-00 12:00:00', 0)")
    config = {**mariadb_db.config, "mode": "incrementing", "incrementing.column.name": "id"}
    noon = NOON.replace(microsecond=0)
    first = {"id": 1, "d": dt.date(2024, 2, 29), "at": noon, "ts": noon}
    good, *errant = read_once(config)
    assert good.value == first
    assert good.value_schema is not None and not any(field.schema.optional for field in good.value_schema.fields)
    messages = [str(record.error) for record in errant if isinstance(record, ErrantSourceRecord)]
    begin = "A value of the column d of t is not of type date: "
    assert messages == [
        f"{begin}{day} is not a date; set zero.dates to null or epoch" for day in ("0000-00-00", "2024-00-00")
    ]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for treatment, date, moment in (("null", None, None), ("epoch", epoch.date(), epoch)):
        records = read_once({**config, "zero.dates": treatment})
        assert records[0].value == first
        assert [list(record.value.values())[1:] for record in records[1:]] == [[date, moment, moment]] * 2
        for record in records:
            assert record.value_schema is not None
            validate_struct(record.value_schema, record.value)


def test_rows_with_a_zero_date_have_no_place_in_modes_with_timestamps(mariadb_db: TestDatabase) -> None:
    mariadb_db.query("CREATE TABLE t (id int PRIMARY KEY, at datetime NOT NULL)")
    mariadb_db.query("INSERT INTO t VALUES (1, 0), (2, '2024-02-29 12:00:00')")
    (record,) = read_once({**mariadb_db.config, "mode": "timestamp", "timestamp.column.name": "at"})
    assert record.value["id"] == 2


def test_tables_are_those_of_the_database_unless_a_pattern_selects_others(
    mariadb_db: TestDatabase, mariadb: MariaDb
) -> None:
    other = mariadb.create_database(f"other{time.monotonic_ns()}")
    mariadb.execute("CREATE TABLE elsewhere (id int)", other)
    mariadb.execute("INSERT INTO elsewhere VALUES (7)", other)
    mariadb_db.query("CREATE TABLE here (id int)")
    mariadb_db.query("INSERT INTO here VALUES (1)")
    assert [record.topic for record in read_once(mariadb_db.config)] == ["t-here"]
    for key in ("schema.pattern", "catalog.pattern"):
        (record,) = read_once({**mariadb_db.config, key: other})
        assert (record.topic, record.value) == ("t-elsewhere", {"id": 7})
    own = mariadb_db.config["connection.url"].rpartition("/")[2]
    assert [record.topic for record in read_once({**mariadb_db.config, "schema.pattern": own})] == ["t-here"]


def test_a_task_stops_in_the_middle_of_an_endless_result(mariadb_db: TestDatabase) -> None:
    endless = "SELECT seq AS id, REPEAT('x', 200) AS filler FROM seq_1_to_1000000000000"
    run = SourceRun({**mariadb_db.config, "query": endless})
    assert run.task.poll()
    begin = time.monotonic()
    run.stop()
    assert time.monotonic() - begin < 20
