"""Databases for tests of the JDBC connectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.mariadb import MariaDb, started_mariadb
from tests.support.servers.postgres import Postgres
from tests.support.tasks.jdbc import Query

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class TestDatabase:
    """An empty database: its connection keys, and statements on it."""

    __test__ = False

    kind: str
    config: dict[str, str]
    query: Query
    server: Postgres | None = None


def postgres_database(server: Postgres) -> TestDatabase:
    name = server.create_database(f"unit{next(_numbers)}")
    return TestDatabase(
        "postgresql", server.config(name), lambda statement: server.execute(statement, database=name), server
    )


@pytest.fixture
def postgres_db(postgres: Postgres) -> TestDatabase:
    return postgres_database(postgres)


@pytest.fixture
def sqlite_db(tmp_path: Path) -> TestDatabase:
    file = tmp_path / "unit.db"

    def query(statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            rows = connection.execute(statement).fetchall()
            connection.commit()
            return rows

    return TestDatabase("sqlite", {"connection.url": f"jdbc:sqlite:{file}"}, query)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """The MariaDB server of the whole test run."""
    server = started_mariadb()
    yield server
    server.remove()


@pytest.fixture
def mariadb_db(mariadb: MariaDb) -> TestDatabase:
    """MariaDB's TIMESTAMP is in UTC and has no fractions by default, so tables get a DATETIME instead."""
    name = mariadb.create_database(f"unit{next(_numbers)}")

    def query(statement: str) -> list[tuple[Any, ...]]:
        return mariadb.execute(statement.replace("TIMESTAMP", "DATETIME(6)"), name)

    return TestDatabase("mariadb", mariadb.config(name), query)


@pytest.fixture(params=["postgres", "sqlite", "mariadb"])
def database(request: pytest.FixtureRequest) -> TestDatabase:
    found: TestDatabase = request.getfixturevalue(f"{request.param}_db")
    return found
