"""The real brokers and workers of the tests, started when the first test needs them."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import settings

from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.kafka.stores import MakeStores, opened_stores
from tests.support.plugins import PLUGINS
from tests.support.servers.postgres import Postgres, started_postgres
from tests.support.time_limit import TimeLimit
from tests.support.workers import StartWorker, WorkerProcess, java_worker, our_worker, started_workers


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background runs ignore it, and so would their processes
    settings.register_profile("headrace", deadline=None)  # of 200 ms for an example, which a busy machine exceeds
    settings.load_profile("headrace")
    seconds = config.getvalue("timeout")
    config.pluginmanager.register(TimeLimit(float(config.getini("timeout") if seconds is None else seconds)))


@pytest.fixture(scope="session", autouse=True)
def xdg_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Separate folders for settings and state; the cache is shared for its jars."""
    home = tmp_path_factory.mktemp("xdg")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "STATE", "DATA"):
            patch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
        yield home


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test's own folders for settings and state, `config` and `state` in this one."""
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    return tmp_path


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One real broker for the whole run, which tests must not kill; `own_broker` is for that."""
    bootstrap = os.environ.get("HEADRACE_TEST_BOOTSTRAP")
    if bootstrap:
        yield KafkaBroker(bootstrap)
        return
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")).started() as broker:
        yield broker


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    """A new topic with one partition."""
    return broker.create_topic()


@pytest.fixture
async def stores(broker: KafkaBroker) -> AsyncIterator[MakeStores]:
    """Opens the stores of workers on the broker, for one test."""
    async with opened_stores(broker.bootstrap) as make:
        yield make


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that belongs to one test, which may kill and restart it."""
    with EmbeddedBroker(tmp_path / "broker").started() as broker:
        yield broker


@pytest.fixture
def worker(broker: KafkaBroker, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts workers, which end with the test."""
    with started_workers(tmp_path, broker.bootstrap) as start:
        yield start


@pytest.fixture(scope="module")
def module_worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartWorker]:
    """Starts workers, which end with the module's last test."""
    with started_workers(tmp_path_factory.mktemp("worker"), broker.bootstrap) as start:
        yield start


@pytest.fixture(scope="session")
def java_connect(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Apache Kafka Connect 4.3, the reference for answers; HEADRACE_TEST_CONNECT names a running one."""
    if there := os.environ.get("HEADRACE_TEST_CONNECT"):
        yield WorkerProcess([], urlsplit(there).port or 8083, tmp_path_factory.mktemp("java-connect") / "log", {})
        return
    with java_worker(tmp_path_factory.mktemp("java-connect"), broker.bootstrap, {}).started() as process:
        yield process


@pytest.fixture(scope="session")
def our_connect(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One of our workers for the whole run, with the test plugins; `worker` is for tests that end it."""
    with our_worker(
        tmp_path_factory.mktemp("our-connect"), broker.bootstrap, {"plugin.path": PLUGINS}
    ).started() as process:
        yield process


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL server for the whole run; tests create their own databases."""
    server = started_postgres({"wal_level": "logical"})
    yield server
    server.remove()
