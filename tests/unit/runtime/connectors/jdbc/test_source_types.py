"""The schemas and values of columns, on a real PostgreSQL and on SQLite."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP
from runtime.api.data.record import ErrantSourceRecord
from runtime.api.data.schema import Type
from runtime.api.data.validate import validate_struct
from runtime.connectors.jdbc.source.values import as_instant
from tests.support.tasks.jdbc import read_once
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.UTC)

POSTGRES: list[tuple[str, str, Type, str | None, Any]] = [
    ("boolean", "true", Type.BOOLEAN, None, True),
    ("smallint", "-32768", Type.INT16, None, -32768),
    ("integer", "2147483647", Type.INT32, None, 2147483647),
    ("bigint", "-9223372036854775808", Type.INT64, None, -(1 << 63)),
    ("real", "1.5", Type.FLOAT32, None, 1.5),
    ("double precision", "0.1", Type.FLOAT64, None, 0.1),
    ("numeric(12,2)", "1.5", Type.BYTES, DECIMAL, Decimal("1.50")),
    ("numeric(40,30)", "0.123456789012345678901234567891", Type.BYTES, DECIMAL,
     Decimal("0.123456789012345678901234567891")),
    ("numeric", "12345678901234567890.10", Type.STRING, None, "12345678901234567890.10"),
    ("numeric(5,-2)", "12345", Type.BYTES, DECIMAL, Decimal("1.23E+4")),
    ("text", "'Straße 🚲'", Type.STRING, None, "Straße 🚲"),
    ("varchar(10)", "'a'", Type.STRING, None, "a"),
    ("char(3)", "'ab'", Type.STRING, None, "ab "),
    ("bytea", r"'\x00ff'", Type.BYTES, None, b"\x00\xff"),
    ("date", "'2024-02-29'", Type.INT32, DATE, dt.date(2024, 2, 29)),
    ("time", "'12:34:56.789'", Type.INT32, TIME, dt.time(12, 34, 56, 789000)),
    ("timestamp", "'2024-02-29 12:00:00.123456'", Type.INT64, TIMESTAMP, NOON.replace(tzinfo=None)),
    ("timestamptz", "'2024-02-29 14:00:00.123456+02'", Type.INT64, TIMESTAMP, NOON),
    ("uuid", f"'{UUID}'", Type.STRING, "io.debezium.data.Uuid", UUID),
    ("json", """'{"a":  1}'""", Type.STRING, "io.debezium.data.Json", '{"a":  1}'),
    ("jsonb", """'{"a":  1}'""", Type.STRING, "io.debezium.data.Json", '{"a": 1}'),
    ("integer[]", "'{1,NULL,3}'", Type.ARRAY, None, [1, None, 3]),
    ("text[]", """'{"a,b","c\\"d",NULL}'""", Type.ARRAY, None, ["a,b", 'c"d', None]),
    ("numeric(5,1)[]", "'{1.5}'", Type.ARRAY, None, [Decimal("1.5")]),
    ("uuid[]", f"'{{{UUID}}}'", Type.ARRAY, None, [UUID]),
    ("timestamptz[]", "'{2024-02-29 12:00:00.123456+00}'", Type.ARRAY, None, [NOON]),
    ("mood", "'ok'", Type.STRING, None, "ok"),
    ("mood[]", "'{ok,sad}'", Type.ARRAY, None, ["ok", "sad"]),
    ("price", "9.5", Type.BYTES, DECIMAL, Decimal("9.50")),
    ("inet", "'10.0.0.1'", Type.STRING, None, "10.0.0.1/32"),
    ("interval", "'1 day 2 hours'", Type.STRING, None, "1 day 02:00:00"),
    ("int4range", "'[1,5)'", Type.STRING, None, "[1,5)"),
]  # fmt: skip
"""Types of columns, literals, and what a record has."""


def test_types_of_postgresql(postgres_db: TestDatabase) -> None:
    """A row of values, then a row of nulls; names of tables and columns have capitals, quotes and percent signs."""
    query = postgres_db.query
    query("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    query("CREATE DOMAIN price AS numeric(8,2) CHECK (VALUE > 0)")
    columns = [f'"C{number} ""%s"' for number in range(len(POSTGRES))]
    defined = ", ".join(f"{name} {kind}" for name, (kind, *_) in zip(columns, POSTGRES, strict=True))
    query(f'CREATE TABLE "Odd ""Name%" ("Id" int PRIMARY KEY, {defined})')
    query(f'INSERT INTO "Odd ""Name%" VALUES (1, {", ".join(literal for _, literal, *_ in POSTGRES)})')
    query('INSERT INTO "Odd ""Name%" VALUES (2)')
    config = {**postgres_db.config, "mode": "incrementing", "incrementing.column.name": "Id"}
    values, nulls = read_once(config)
    assert values.topic == 't-Odd "Name%'
    assert values.source_partition == {"protocol": "1", "table": 'public.Odd "Name%'}
    schema = values.value_schema
    assert schema is not None and schema is nulls.value_schema and schema.name == 'Odd "Name%'
    assert not schema.fields[0].schema.optional and schema.fields[1].schema.optional
    for field, (kind, _, type_, name, expected) in zip(schema.fields[1:], POSTGRES, strict=True):
        assert (field.schema.type, field.schema.name) == (type_, name), kind
        assert values.value[field.name] == expected, kind
        assert type(values.value[field.name]) is type(expected), kind
        assert nulls.value[field.name] is None, kind
    validate_struct(schema, values.value)


@pytest.mark.parametrize("local", ["2026-10-25 01:30", "2026-10-25 02:30", "2026-10-25 03:30", "2026-03-29 02:30"])
def test_local_times_at_a_change_of_the_clocks_are_those_of_postgresql(local: str, postgres_db: TestDatabase) -> None:
    query = f"SELECT extract(epoch FROM timestamp '{local}' AT TIME ZONE 'Europe/Berlin')::bigint"
    moment = as_instant(dt.datetime.fromisoformat(local), ZoneInfo("Europe/Berlin"))
    assert moment.timestamp() == postgres_db.query(query)[0][0]


def test_the_columns_of_a_query(postgres_db: TestDatabase) -> None:
    postgres_db.query("CREATE TABLE orders (id int, amount numeric(12,2), at timestamptz)")
    postgres_db.query("INSERT INTO orders VALUES (1, 1.5, '2024-02-29 12:00:00.123456Z'), (2, 2, NULL)")
    query = "SELECT id, amount * 1 AS amount, '10:30'::time AS t, at FROM orders WHERE id < 2;"
    (record,) = read_once({**postgres_db.config, "query": query})
    assert record.topic == "t-"
    assert record.source_partition == {"query": "query"}
    assert record.value == {"id": 1, "amount": "1.50", "t": dt.time(10, 30), "at": NOON}


def test_types_of_sqlite(sqlite_db: TestDatabase) -> None:
    sqlite_db.query(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, b BOOLEAN, r REAL, n DECIMAL(10,2), s VARCHAR(9), x BLOB, "
        "d DATE, c TIME, ts TIMESTAMP, ms TIMESTAMP, u NUMERIC)"
    )
    sqlite_db.query(
        "INSERT INTO t VALUES (1, 9223372036854775807, 1, 0.5, 1.5, 'ä', x'00ff', '2024-02-29', '12:34:56', "
        "'2024-02-29 12:00:00.123456', 1709208000123, 7)"
    )
    sqlite_db.query("INSERT INTO t (id, u) VALUES (2, 8)")
    values, nulls = read_once(sqlite_db.config)
    assert values.value == {
        "id": 1, "i": (1 << 63) - 1, "b": True, "r": 0.5, "n": Decimal("1.50"), "s": "ä", "x": b"\x00\xff",
        "d": dt.date(2024, 2, 29), "c": dt.time(12, 34, 56), "ts": NOON,
        "ms": NOON.replace(microsecond=123000), "u": "7",
    }  # fmt: skip
    assert nulls.value == {**dict.fromkeys(values.value), "id": 2, "u": "8"}
    assert values.value_schema is not None
    validate_struct(values.value_schema, values.value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("integer[]", "{{1,2},{3,4}}", "array of arrays, for which Connect has no schema; read it as text with query"),
        ("text[][]", "{{a}}", "array of arrays"),
        ("numeric(9,2)", "NaN", "NaN has no Decimal in Connect; numeric.mapping=best_fit_eager_double"),
    ],
)
def test_a_value_that_connect_does_not_have_is_named(
    postgres_db: TestDatabase, kind: str, value: str, message: str
) -> None:
    postgres_db.query(f"CREATE TABLE t (good integer, odd {kind})")
    postgres_db.query(f"INSERT INTO t VALUES (1, '{value}')")
    (record,) = read_once(postgres_db.config)
    assert isinstance(record, ErrantSourceRecord)
    assert re.match(f"A value of the column odd of public.t is not of type .*{message}", str(record.error))
    as_text = read_once({**postgres_db.config, "query": "SELECT odd::text AS odd FROM t"})
    assert [record.value for record in as_text] == [{"odd": value}]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("time", "24:00:00"),
        ("timestamp", "-infinity"),
        ("timestamp", "12000-01-01 00:00:00"),
        ("timestamptz", "infinity"),
        ("timestamptz[]", "{infinity}"),
    ],
)
def test_a_time_that_python_does_not_have_is_an_error_of_its_row_alone(
    postgres_db: TestDatabase, kind: str, value: str, zone: str
) -> None:
    postgres_db.query(f"CREATE TABLE t (id integer PRIMARY KEY, odd {kind})")
    postgres_db.query(f"INSERT INTO t VALUES (1, NULL), (2, '{value}'), (3, NULL)")
    config = {**postgres_db.config, "mode": "incrementing", "incrementing.column.name": "id", "db.timezone": zone}
    first, errant, last = read_once(config)
    assert [first.value, last.value] == [{"id": 1, "odd": None}, {"id": 3, "odd": None}]
    assert isinstance(errant, ErrantSourceRecord)
    assert str(errant.error).startswith("A value of the column odd of public.t is not of type ")
    as_text = read_once({**postgres_db.config, "query": "SELECT odd::text AS odd FROM t WHERE id = 2"})
    assert [record.value for record in as_text] == [{"odd": value}]


def test_a_row_of_sqlite_with_a_text_that_is_not_utf_8_is_errant_alone(sqlite_db: TestDatabase) -> None:
    sqlite_db.query("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    sqlite_db.query("INSERT INTO t VALUES (1, 'ä'), (2, CAST(x'e441' AS TEXT)), (3, 'c')")
    config = {"mode": "incrementing", "incrementing.column.name": "id"}
    first, errant, last = read_once({**sqlite_db.config, **config})
    assert [first.value, last.value] == [{"id": 1, "name": "ä"}, {"id": 3, "name": "c"}]
    assert isinstance(errant, ErrantSourceRecord) and errant.source_offset == {"incrementing": 2}
    assert "is not of type text: 'utf-8' codec can't decode byte 0xe4" in str(errant.error)


def test_a_row_with_a_value_of_another_type_is_errant_alone(sqlite_db: TestDatabase) -> None:
    sqlite_db.query("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, at DATE)")
    sqlite_db.query("INSERT INTO t VALUES (1, 10, NULL), (2, 'many', 'never'), (3, 30, NULL)")
    config = {"mode": "incrementing", "incrementing.column.name": "id", "errors.deadletterqueue.topic.name": "bad"}
    first, errant, last = read_once({**sqlite_db.config, **config})
    assert [first.value["n"], last.value["n"]] == [10, 30]
    assert isinstance(errant, ErrantSourceRecord)
    assert str(errant.error).startswith("A value of the column n of t is not of type int64: ")
    assert (errant.topic, errant.source_offset) == ("bad", {"incrementing": 2})
    assert errant.value == b'{"id":2,"n":"many","at":"never"}'


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ("none", [(Type.BYTES, Decimal(42)), (Type.BYTES, Decimal("1.50")), (Type.BYTES, Decimal(10**19))]),
        ("precision_only", [(Type.INT16, 42), (Type.BYTES, Decimal("1.50")), (Type.BYTES, Decimal(10**19))]),
        ("best_fit", [(Type.INT16, 42), (Type.FLOAT64, 1.5), (Type.BYTES, Decimal(10**19))]),
    ],
)
def test_numeric_mapping(database: TestDatabase, mapping: str, expected: list[tuple[Type, Any]]) -> None:
    database.query("CREATE TABLE t (a NUMERIC(4,0), b NUMERIC(9,2), c NUMERIC(25,0))")
    database.query("INSERT INTO t VALUES (42, 1.5, 10000000000000000000)")
    (record,) = read_once({**database.config, "numeric.mapping": mapping})
    assert record.value_schema is not None
    found = zip(record.value_schema.fields, record.value.values(), strict=True)
    assert [(field.schema.type, value) for field, value in found] == expected


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("micros_long", 1709208000123456),
        ("nanos_long", 1709208000123456000),
        ("micros_string", "1709208000123456"),
        ("nanos_string", "1709208000123456000"),
        ("micros_iso_datetime_string", "2024-02-29T12:00:00.123456"),
        ("nanos_iso_datetime_string", "2024-02-29T12:00:00.123456000"),
    ],
)
def test_timestamp_granularity(database: TestDatabase, granularity: str, expected: Any) -> None:
    database.query("CREATE TABLE t (at TIMESTAMP)")
    database.query("INSERT INTO t VALUES ('2024-02-29 13:00:00.123456')")
    config = {"timestamp.granularity": granularity, "db.timezone": "Europe/Berlin"}
    (record,) = read_once({**database.config, **config})
    assert record.value == {"at": expected}
