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

from tests.support.jdbc import Query
from tests.support.postgres import Postgres

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


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: pytest.FixtureRequest) -> Iterator[TestDatabase]:
    yield request.getfixturevalue("postgres_db" if request.param == "postgresql" else "sqlite_db")
