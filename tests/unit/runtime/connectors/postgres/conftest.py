"""Databases for the tests of PostgresCdcSource."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.servers.postgres import Postgres
from tests.support.tasks.postgres_cdc import CdcRun, Database, Requests


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Database]:
    made = Database(postgres)
    yield made
    made.close()


@pytest.fixture
def run(database: Database) -> Iterator[Callable[..., CdcRun]]:
    """Starts tasks, which are stopped at the end."""
    runs: list[CdcRun] = []

    def start(transactions: Requests | None = None, **more: str) -> CdcRun:
        runs.append(CdcRun(database, transactions, **more))
        return runs[-1]

    yield start
    for started in runs:
        started.stop()
