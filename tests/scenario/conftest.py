"""The worker that scenarios share where they neither end it nor change its properties, and a schema registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.connect import Connect
from tests.support.servers.schema_registry import StubRegistry
from tests.support.workers import WorkerProcess


@pytest.fixture
def connect(our_connect: WorkerProcess) -> Iterator[Connect]:
    """Our worker, with the test plugins; it has no connectors and no offsets of sources, neither before nor after."""
    shared = Connect(our_connect)
    yield shared
    shared.delete_all()


@pytest.fixture
def registry() -> Iterator[StubRegistry]:
    with closing(StubRegistry()) as stub:
        yield stub
