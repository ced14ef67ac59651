"""A schema registry for each test of converters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.servers.schema_registry import StubRegistry


@pytest.fixture
def stub() -> Iterator[StubRegistry]:
    with closing(StubRegistry()) as stub:
        yield stub
