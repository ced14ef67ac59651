"""A worker with Java connectors in its `plugin.path`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import Connect
from tests.support.java.connectors import MAIN, PREFER_FILE, plugin_path
from tests.support.java.journal import journal_plugins
from tests.support.java.transcript.writer import transcript_plugins
from tests.support.workers import java_worker, our_worker


@pytest.fixture(scope="session")
def connect(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    """Our worker, for all tests of this folder; Apache's with HEADRACE_TEST_SIDE=java, on which they pass as well."""
    make = java_worker if os.environ.get("HEADRACE_TEST_SIDE") == "java" else our_worker
    plugins = f"{plugin_path(*MAIN)},{journal_plugins()},{transcript_plugins()}"
    worker = make(tmp_path_factory.mktemp("java"), broker.bootstrap, {"plugin.path": plugins, **PREFER_FILE})
    with worker.started(180):
        yield Connect(worker)
