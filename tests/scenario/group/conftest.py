"""Groups of workers for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.plugins import PLUGINS


@pytest.fixture
def group(broker: KafkaBroker, tmp_path: Path) -> Iterator[WorkerGroup]:
    """A group without workers, on the broker of all tests."""
    with worker_group(tmp_path, broker, {"plugin.path": PLUGINS, "headrace.slots": "1"}) as group:
        yield group
