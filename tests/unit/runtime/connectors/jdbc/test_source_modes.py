"""How a source finds new rows, on a real PostgreSQL and on SQLite."""

from __future__ import annotations

import datetime as dt
from itertools import count
from typing import Any

import pytest

from runtime.api.errors import ConnectError, RetriableError
from tests.support.tasks.jdbc import SourceRun, SourceTestContext, read_once
from tests.support.waiting import wait_until
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

IDS = {"mode": "incrementing", "incrementing.column.name": "id"}
TIMES = {"mode": "timestamp", "timestamp.column.name": "at"}
BOTH = {**IDS, **TIMES, "mode": "timestamp+incrementing"}


def _table(database: TestDatabase, *rows: tuple[int, str]) -> None:
    database.query("CREATE TABLE orders (id INTEGER NOT NULL PRIMARY KEY, at TIMESTAMP NOT NULL)")
    _insert(database, *rows)


def _insert(database: TestDatabase, *rows: tuple[int, str]) -> None:
    values = ", ".join(f"({number}, '2024-01-01 {time}')" for number, time in rows)
    database.query(f"INSERT INTO orders VALUES {values}")


def _ids(records: Any) -> list[int]:
    return [record.value["id"] for record in records]


def test_bulk_reads_all_rows_each_time(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"), (2, "10:00:00"))
    run = SourceRun(database.config)
    assert sorted(_ids(run.read())) == [1, 2]
    assert run.read() == []
    wait_until(lambda: sorted(_ids(run.read())) == [1, 2])
    run.stop()


def test_incrementing(database: TestDatabase) -> None:
    _table(database, *[(number, "10:00:00") for number in range(1, 8)])
    context = SourceTestContext()
    run = SourceRun({**database.config, **IDS, "batch.max.rows": "3"}, context)
    records = run.read()
    assert _ids(records) == [1, 2, 3, 4, 5, 6, 7]
    assert [record.source_offset for record in records] == [{"incrementing": number} for number in range(1, 8)]
    _insert(database, (9, "10:00:00"))
    wait_until(lambda: _ids(run.read()) == [9])
    run.stop()
    _insert(database, (10, "10:00:00"))
    assert _ids(read_once({**database.config, **IDS}, context)) == [10]


def test_timestamps_with_rows_at_the_same_time(database: TestDatabase) -> None:
    """An offset never skips rows with the same timestamp that were not read yet."""
    _table(database, (1, "10:00:00"), (2, "10:00:00.5"), (3, "10:00:00.5"), (4, "10:00:00.5"), (5, "10:00:01"))
    records = read_once({**database.config, **TIMES, "batch.max.rows": "2"})
    assert sorted(_ids(records)) == [1, 2, 3, 4, 5]
    for read in range(1, 6):
        context = SourceTestContext()
        context.commit(records[:read])
        again = read_once({**database.config, **TIMES}, context)
        assert {*_ids(records[:read]), *_ids(again)} == {1, 2, 3, 4, 5}, read
    assert read_once({**database.config, **TIMES}, _after(records)) == []


def test_timestamp_and_number(database: TestDatabase) -> None:
    """Each offset continues with exactly the next row, also an updated one."""
    _table(database, (1, "10:00:01"), (2, "10:00:00"), (4, "10:00:00"), (3, "10:00:00"))
    records = read_once({**database.config, **BOTH})
    assert _ids(records) == [2, 3, 4, 1]
    for read in range(1, 5):
        context = SourceTestContext()
        context.commit(records[:read])
        assert _ids(read_once({**database.config, **BOTH}, context)) == [2, 3, 4, 1][read:]
    database.query("UPDATE orders SET at = '2024-01-01 10:00:02' WHERE id = 2")
    assert _ids(read_once({**database.config, **BOTH}, _after(records))) == [2]


def _after(records: Any) -> SourceTestContext:
    context = SourceTestContext()
    context.commit(records)
    return context


def test_times_of_a_time_zone(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"), (2, "11:00:00"))
    config = {**database.config, **TIMES, "db.timezone": "America/New_York"}
    records = read_once(config)
    assert [record.value["at"].astimezone(dt.UTC).hour for record in records] == [15, 16]
    context = SourceTestContext()
    context.commit(records[:1])
    assert _ids(read_once(config, context)) == [2]


def test_the_first_of_several_timestamps_that_is_not_null(database: TestDatabase) -> None:
    database.query("CREATE TABLE orders (id INTEGER, changed TIMESTAMP, created TIMESTAMP NOT NULL)")
    database.query("INSERT INTO orders VALUES (1, NULL, '2024-01-01 10:00:00')")
    database.query("INSERT INTO orders VALUES (2, '2024-01-01 12:00:00', '2024-01-01 09:00:00')")
    config = {**database.config, "mode": "timestamp", "timestamp.column.name": "changed,created"}
    assert _ids(read_once(config)) == [1, 2]


def test_delay_and_initial_timestamp(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"))
    now = dt.datetime.now(dt.UTC)
    database.query(f"INSERT INTO orders VALUES (2, '{now - dt.timedelta(seconds=20):%Y-%m-%d %H:%M:%S}')")
    assert _ids(read_once({**database.config, **TIMES, "timestamp.delay.interval.ms": "600000"})) == [1]
    assert _ids(read_once({**database.config, **TIMES, "timestamp.initial": "1704200000000"})) == [2]
    assert _ids(read_once({**database.config, **TIMES, "timestamp.initial": "-1"})) == []


@pytest.mark.parametrize("mode", [TIMES, BOTH], ids=["timestamp", "both"])
def test_rows_that_are_written_later_in_the_same_second_are_read(database: TestDatabase, mode: dict[str, str]) -> None:
    """Their timestamps, which have no fractions, are those of rows that may have been read before."""
    digits = "(0)" if database.kind == "postgresql" else ""
    now = "utc_timestamp()" if database.kind == "mariadb" else "CURRENT_TIMESTAMP"
    database.query(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, n INTEGER, at TIMESTAMP{digits} NOT NULL)")
    run = SourceRun({**database.config, **mode, "poll.interval.ms": "1"})
    written, read = dict[int, int](), dict[int, int]()

    def all_read() -> bool:
        read.update((record.value["id"], record.value["n"]) for record in run.task.poll() or ())
        return read == written

    end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1.5)
    for number in count(1):
        database.query(f"INSERT INTO orders VALUES ({number}, 0, {now})")
        database.query(f"UPDATE orders SET n = 1, at = {now} WHERE id = {number - 1}")
        written |= {number: 0} | ({number - 1: 1} if number > 1 else {})
        all_read()
        if dt.datetime.now(dt.UTC) > end:
            break
    wait_until(all_read, 10, "the last version of each row")
    run.stop()


def test_a_restart_before_the_first_row_continues_at_the_time_of_the_first_start(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"))
    config, context = {**database.config, **TIMES, "timestamp.initial": "-1"}, SourceTestContext()
    before = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=2)
    assert read_once(config, context) == []
    ((partition, offset),) = context.offsets.stored
    assert dt.datetime.fromtimestamp(offset["timestamp"] / 1000, dt.UTC) > before
    assert read_once(config, context) == []
    assert context.offsets.stored == [(partition, offset)]


def test_columns_that_may_be_null(database: TestDatabase) -> None:
    database.query("CREATE TABLE orders (id INTEGER)")
    database.query("INSERT INTO orders VALUES (1), (NULL)")
    with pytest.raises(ConnectError, match=r"id of (public\.)?orders may be null"):
        read_once({**database.config, **IDS})
    assert _ids(read_once({**database.config, **IDS, "validate.non.null": "false"})) == [1]


def test_a_query_with_new_rows(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"), (2, "10:00:00"), (3, "10:00:00"))
    query = {**database.config, **IDS, "query": "SELECT id, 'a:b' AS label FROM orders WHERE id <> 2"}
    records = read_once({**query, "query.suffix": "LIMIT 1"})
    assert [record.value for record in records] == [{"id": 1, "label": "a:b"}]
    assert records[0].source_partition == {"query": "query"}
    assert _ids(read_once(query, _after(records))) == [3]


def test_columns_that_appear_while_the_task_runs(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"))
    run = SourceRun({**database.config, **IDS})
    assert _ids(run.read()) == [1]
    database.query("ALTER TABLE orders ADD COLUMN note VARCHAR(10)")
    database.query("INSERT INTO orders VALUES (2, '2024-01-01 10:00:00', 'new')")
    found: list[Any] = []

    def read() -> bool:
        found.extend(run.read())
        return bool(found)

    wait_until(read)
    assert found[0].value["note"] == "new"
    run.stop()


def test_tables_are_distributed_and_new_ones_noticed(database: TestDatabase) -> None:
    for name in ("a", "b", "c", "log_x"):
        database.query(f"CREATE TABLE {name} (id INTEGER)")
        database.query(f"INSERT INTO {name} VALUES (1)")
    config = {
        **database.config, "table.exclude.list": "log_.*", "table.poll.interval.ms": "20", "poll.interval.ms": "60000",
    }  # fmt: skip
    run = SourceRun(config)
    assert sorted(record.topic for record in run.read()) == ["t-a", "t-b", "t-c"]
    assert [one["tables"].count("[") - 1 for one in run.connector.task_configs(2)] == [2, 1]
    assert len(run.connector.task_configs(9)) == 3
    database.query("CREATE TABLE d (id INTEGER)")
    wait_until(lambda: run.context.requests == 1)
    assert len(run.connector.task_configs(9)) == 4
    run.stop()


def test_tables_of_several_schemas(postgres_db: TestDatabase) -> None:
    for schema in ("sales", "stock"):
        postgres_db.query(f"CREATE SCHEMA {schema}")
        postgres_db.query(f"CREATE TABLE {schema}.items (id int)")
        postgres_db.query(f"INSERT INTO {schema}.items VALUES ({len(schema)})")
    with pytest.raises(ConnectError, match="same topic"):
        read_once(postgres_db.config)
    assert _ids(read_once({**postgres_db.config, "schema.pattern": "sal%"})) == [5]
    assert _ids(read_once({**postgres_db.config, "table.whitelist": "stock.items"})) == [5]
    assert SourceRun({**postgres_db.config, "table.whitelist": "sales.items"}).connector.task_configs(5)


def test_views(database: TestDatabase) -> None:
    _table(database, (1, "10:00:00"), (2, "10:00:00"))
    database.query("CREATE VIEW recent AS SELECT * FROM orders WHERE id > 1")
    assert _ids(read_once({**database.config, "table.types": "VIEW"})) == [2]


def test_names_without_quotes(postgres_db: TestDatabase) -> None:
    _table(postgres_db, (1, "10:00:00"))
    config = {**postgres_db.config, **IDS, "quote.sql.identifiers": "NEVER"}
    assert _ids(read_once(config)) == [1]


def test_a_lost_connection(postgres_db: TestDatabase) -> None:
    """The task continues after the last row that it has returned."""
    _table(postgres_db, *[(number, "10:00:00") for number in range(1, 10)])
    run = SourceRun({**postgres_db.config, **IDS, "batch.max.rows": "4", "connection.backoff.ms": "1"})
    first = list(run.task.poll() or [])
    assert _ids(first) == [1, 2, 3, 4]
    postgres_db.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name LIKE 'headrace%' AND datname = current_database()"
    )
    with pytest.raises(RetriableError, match=r"Cannot read public\.orders"):
        run.task.poll()
    rest: list[Any] = []

    def read() -> bool:
        rest.extend(run.read())
        return len(rest) == 5

    wait_until(read)
    assert _ids(rest) == [5, 6, 7, 8, 9]
    run.stop()


def test_failures_are_limited_if_wanted(postgres_db: TestDatabase) -> None:
    _table(postgres_db, (1, "10:00:00"))
    run = SourceRun({**postgres_db.config, **IDS, "query.retry.attempts": "0"})
    run.read()
    postgres_db.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name LIKE 'headrace%' AND datname = current_database()"
    )

    def failed() -> bool:
        try:
            run.task.poll()
        except RetriableError:
            return False
        except ConnectError as error:
            return "query.retry.attempts=0" in str(error)
        return False

    wait_until(failed)
    run.stop()
