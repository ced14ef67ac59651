"""Rows that are committed after rows with larger numbers or later timestamps, on a real PostgreSQL and MariaDB."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa

from runtime.connectors.jdbc.catalog.fence import ListedFence, ListedTransaction
from tests.support.servers.mariadb import MariaDb
from tests.support.servers.postgres import Postgres
from tests.support.tasks.jdbc import SourceRun, read_once
from tests.support.waiting import wait_until
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

IDS = {"mode": "incrementing", "incrementing.column.name": "id"}
TIMES = {"mode": "timestamp", "timestamp.column.name": "at"}
BOTH = {**IDS, **TIMES, "mode": "timestamp+incrementing"}
WRITERS, TRANSACTIONS = 6, 15
TABLES = {
    "postgresql": "CREATE TABLE t (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), note text)",
    "mariadb": "CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT now(6), "
    "note text)",
}  # fmt: skip
INSERT = "INSERT INTO t (note) VALUES ('x')"


def connected(database: TestDatabase) -> Any:
    """A session of an application, with a transaction from its first statement on."""
    url, user, password = (database.config[f"connection.{key}"] for key in ("url", "user", "password"))
    parts = urlsplit(url.removeprefix("jdbc:"))
    place: dict[str, Any] = {"host": parts.hostname, "port": parts.port, "user": user, "password": password}
    name = parts.path.strip("/")
    if database.kind == "mariadb":
        import pymysql

        return pymysql.connect(database=name, **place)
    import psycopg

    return psycopg.connect(dbname=name, **place)


def run(session: Any, statement: str) -> None:
    """Runs a statement in the open transaction."""
    with session.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(params=["postgres", "mariadb"])
def concurrent_db(request: pytest.FixtureRequest) -> TestDatabase:
    """A database in which several transactions write at the same time; the table `t` exists."""
    database: TestDatabase = request.getfixturevalue(f"{request.param}_db")
    run(session := connected(database), TABLES[database.kind])
    session.commit()
    session.close()
    return database


@pytest.fixture
def sessions(concurrent_db: TestDatabase) -> Iterator[list[Any]]:
    """Three sessions of applications."""
    with ExitStack() as stack:
        opened = [connected(concurrent_db) for _ in range(3)]
        for session in opened:
            stack.callback(session.close)
        yield opened


def ids_of(records: Any) -> list[int]:
    return [record.value["id"] for record in records]


def read(source: SourceRun, count: int) -> list[int]:
    """The numbers of the next rows, `count` at least."""
    ids: list[int] = []

    def complete() -> bool:
        ids.extend(ids_of(source.read()))
        return len(ids) >= count

    wait_until(complete)
    return ids


class Writer(threading.Thread):
    """Transactions of random lengths with one to three rows; some are rolled back, and some of PostgreSQL prepared."""

    def __init__(self, database: TestDatabase, number: int) -> None:
        super().__init__(daemon=True)
        self._session, self._number, self._random = connected(database), number, random.Random(number)
        self._prepares = database.kind == "postgresql"

    def run(self) -> None:
        for transaction in range(TRANSACTIONS):
            run(self._session, "SELECT 1")  # now() of PostgreSQL is the time of this statement
            for _ in range(self._random.randint(1, 3)):
                time.sleep(self._random.random() / 200)
                run(self._session, "SAVEPOINT s")
                run(self._session, INSERT)
                run(self._session, "RELEASE SAVEPOINT s")
            time.sleep(self._random.random() / 200)
            self._end(f"{self._number}-{transaction}")
        self._session.close()

    def _end(self, name: str) -> None:
        kind = self._random.random()
        if kind < 0.1:
            self._session.rollback()
        elif kind < 0.3 and self._prepares:
            run(self._session, f"PREPARE TRANSACTION '{name}'")
            self._session.commit()
            time.sleep(self._random.random() / 100)
            self._session.autocommit = True
            run(self._session, f"COMMIT PREPARED '{name}'")
            self._session.autocommit = False
        else:
            self._session.commit()


@pytest.mark.parametrize(
    ("concurrent_db", "mode"),
    [("postgres", IDS), ("postgres", TIMES), ("postgres", BOTH), ("mariadb", IDS)],
    ids=["postgres numbers", "postgres times", "postgres both", "mariadb numbers"],
    indirect=["concurrent_db"],
)
def test_every_row_of_concurrent_writers_is_read_once(concurrent_db: TestDatabase, mode: dict[str, str]) -> None:
    source = SourceRun({**concurrent_db.config, **mode, "poll.interval.ms": "1", "batch.max.rows": "7"})
    writers = [Writer(concurrent_db, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    ids: list[int] = []
    while any(writer.is_alive() for writer in writers):
        ids += ids_of(source.read())
    written = [number for (number,) in concurrent_db.query("SELECT id FROM t ORDER BY id")]
    assert len(written) > WRITERS * TRANSACTIONS
    ids += read(source, len(written) - len(ids))
    source.stop()
    assert sorted(ids) == written


def test_rows_wait_for_transactions_that_write(concurrent_db: TestDatabase, sessions: list[Any]) -> None:
    late, early, _ = sessions
    run(late, INSERT)
    run(early, INSERT)
    early.commit()
    source = SourceRun({**concurrent_db.config, **IDS})
    for _ in range(3):
        assert source.read() == []
    concurrent_db.query(INSERT)
    late.commit()
    assert read(source, 3) == [1, 2, 3]
    source.stop()


def is_settled(database: TestDatabase) -> bool:
    """Whether the last row is so old that it is read if nothing is waited for."""
    return database.query("SELECT max(at) < clock_timestamp() - interval '0.2 s' FROM t") == [(True,)]


@pytest.mark.parametrize("concurrent_db", ["postgres"], indirect=True)
class TestPostgres:
    """What PostgreSQL alone has, or does differently."""

    def test_reports_do_not_delay_numbers(self, concurrent_db: TestDatabase, sessions: list[Any]) -> None:
        run(sessions[0], "SELECT count(*) FROM t")
        concurrent_db.query(INSERT)
        assert ids_of(read_once({**concurrent_db.config, **IDS})) == [1]

    def test_timestamps_wait_for_transactions_that_may_still_write(
        self, concurrent_db: TestDatabase, sessions: list[Any]
    ) -> None:
        late, early, _ = sessions
        run(late, "SELECT 1")
        run(early, INSERT)
        early.commit()
        wait_until(lambda: is_settled(concurrent_db))
        source = SourceRun({**concurrent_db.config, **BOTH})
        for _ in range(3):
            assert source.read() == []
        run(late, INSERT)
        late.commit()
        assert read(source, 2) == [2, 1]
        source.stop()

    @pytest.mark.parametrize("mode", [IDS, BOTH], ids=lambda mode: mode["mode"])
    def test_a_transaction_that_is_prepared_meanwhile_is_waited_for(
        self, concurrent_db: TestDatabase, sessions: list[Any], mode: dict[str, str]
    ) -> None:
        late, early, _ = sessions
        run(late, INSERT)
        run(early, INSERT)
        early.commit()
        wait_until(lambda: is_settled(concurrent_db))
        source = SourceRun({**concurrent_db.config, **mode})
        assert source.read() == []
        (name,) = concurrent_db.query("SELECT current_database()")[0]
        run(late, f"PREPARE TRANSACTION '{name}'")
        late.commit()
        for _ in range(3):
            assert source.read() == []
        concurrent_db.query(f"COMMIT PREPARED '{name}'")
        assert read(source, 2) == [1, 2]
        source.stop()

    @pytest.mark.parametrize(
        "selected",
        [
            {"table.whitelist": "parent", "table.types": "PARTITIONED TABLE"},
            {"table.whitelist": "seen", "table.types": "VIEW"},
            {"query": "SELECT id FROM parent"},
        ],
        ids=["partitioned table", "view", "query"],
    )
    def test_writers_to_the_tables_behind_it_are_waited_for(
        self, concurrent_db: TestDatabase, sessions: list[Any], selected: dict[str, str]
    ) -> None:
        late, *_ = sessions
        concurrent_db.query("CREATE TABLE parent (id serial NOT NULL, part int) PARTITION BY LIST (part)")
        concurrent_db.query("CREATE TABLE child PARTITION OF parent FOR VALUES IN (1)")
        concurrent_db.query("CREATE VIEW seen AS SELECT * FROM parent")
        run(late, "INSERT INTO child VALUES (1, 1)")
        concurrent_db.query("INSERT INTO parent VALUES (2, 1)")
        source = SourceRun({**concurrent_db.config, **IDS, **selected, "validate.non.null": "false"})
        assert source.read() == []
        late.commit()
        assert read(source, 2) == [1, 2]
        source.stop()

    @pytest.mark.soak
    @pytest.mark.parametrize("mode", [IDS, BOTH], ids=lambda mode: mode["mode"])
    def test_on_a_standby(
        self, concurrent_db: TestDatabase, postgres: Postgres, sessions: list[Any], mode: dict[str, str]
    ) -> None:
        late, early, _ = sessions
        name = concurrent_db.config["connection.url"].rpartition("/")[2]
        standby = postgres.standby()
        try:
            run(late, INSERT)
            run(early, INSERT)
            early.commit()
            wait_until(lambda: standby.execute("SELECT id FROM t", database=name) == [(2,)])
            wait_until(lambda: is_settled(concurrent_db))
            source = SourceRun({**standby.config(name), **mode})
            for _ in range(3):
                assert source.read() == []
            late.commit()
            assert read(source, 2) == [1, 2]
            source.stop()
        finally:
            standby.remove()


def test_the_wait_may_be_limited(
    concurrent_db: TestDatabase, sessions: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    late, *_ = sessions
    run(late, INSERT)
    concurrent_db.query(INSERT)
    with caplog.at_level(logging.WARNING):
        source = SourceRun({**concurrent_db.config, **IDS, "transaction.max.wait.ms": "50"})
        assert read(source, 1) == [2]
    source.stop()
    (message,) = caplog.messages
    assert "t: rows up to 2 are read after 0." in message
    session = late.info.backend_pid if concurrent_db.kind == "postgresql" else late.thread_id()
    assert message.endswith(f"may add others: session {session} (transaction.max.wait.ms)")
    assert ids_of(read_once({**concurrent_db.config, **IDS, "transaction.max.wait.ms": "0"})) == [2]


def test_sources_do_not_wait_for_each_other(concurrent_db: TestDatabase) -> None:
    for number in range(1, 6):
        concurrent_db.query(f"INSERT INTO t VALUES ({number}, '2024-01-01', 'x')")
    config = {**concurrent_db.config, **BOTH, "batch.max.rows": "1"}
    first = SourceRun(config)
    assert first.task.poll()
    assert ids_of(read_once(config)) == [1, 2, 3, 4, 5]
    first.stop()


def test_users_of_mariadb_without_the_privilege_are_warned(
    mariadb: MariaDb, mariadb_db: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    name = mariadb_db.config["connection.url"].rpartition("/")[2]
    mariadb.execute("CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'r'", name)
    mariadb.execute("GRANT SELECT ON *.* TO reader@'127.0.0.1'", name)
    mariadb_db.query("CREATE TABLE t (id int NOT NULL)")
    mariadb_db.query("INSERT INTO t VALUES (7)")
    reader = {"connection.user": "reader", "connection.password": "r"}
    with caplog.at_level(logging.WARNING):
        assert ids_of(read_once({**mariadb_db.config, **reader, **IDS})) == [7]
    (message,) = caplog.messages
    assert message.startswith("The database does not show its transactions (")
    assert "Grant the privilege PROCESS to the user" in message


def test_a_fence_follows_transactions_into_their_preparation() -> None:
    """It waits for those that are prepared when one of its sessions is gone, but not for those prepared later."""
    first, second = ListedTransaction("3/1", 10), ListedTransaction("3/2", 11)
    prepared = [ListedTransaction(f"-1/{number}", None) for number in range(3)]
    lists = iter([{first, second}, {second, prepared[0], first}, {second, prepared[1]}, {prepared[1], prepared[2]},
                  {prepared[2], prepared[0]}, {prepared[0]}])  # fmt: skip
    with sa.create_engine("sqlite://").connect() as connection:
        fence = ListedFence(connection, lambda _: next(lists))
        assert fence.remaining(connection) == ["session 10", "session 11"]
        assert fence.remaining(connection) == ["prepared transaction -1/1", "session 11"]
        assert fence.remaining(connection) == ["prepared transaction -1/1", "prepared transaction -1/2"]
        assert fence.remaining(connection) == ["prepared transaction -1/2"]
        assert fence.remaining(connection) == []
