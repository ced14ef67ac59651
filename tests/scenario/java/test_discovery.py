"""Java plugins that are installed by coordinates and found without a JVM, compared with what Apache's worker lists over
the same `plugin.path`."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest

from runtime.java.discovery.java_plugin import UNDEFINED
from runtime.java.discovery.scan import PluginDiscovery, scan
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.installer import install
from tests.support.broker import KafkaBroker
from tests.support.java.connect_jars import connect_jars
from tests.support.java.sources.edge_cases import edge_case_jar
from tests.support.workers import java_worker

_CONNECTORS = (
    "io.debezium:debezium-connector-postgres:3.6.1.Final:plugin@tar.gz",
    "io.debezium:debezium-connector-jdbc:3.6.0.Final:plugin@tar.gz",
    "org.apache.kafka:connect-file:4.3.0",
    "org.apache.kafka:connect-mirror:4.3.0",
    "org.mongodb.kafka:mongo-kafka-connect:1.13.0",
)
_LISTED = {"sink", "source", "transformation", "predicate", "converter", "header_converter"}
_START = 300.0  # seconds; Apache's worker loads every class of every jar

Entry = tuple[str, str, str | None]


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `plugin.path` with all connectors, and classes at the limits of what is a plugin."""
    folder = tmp_path_factory.mktemp("java")
    for text in _CONNECTORS:
        assert install(Coordinate.parse(text), folder / "plugins", progress=sys.stderr).is_new
    edge_case_jar(folder)
    shutil.move(folder / "edge-cases.jar", folder / "plugins")
    return folder / "plugins"


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("discovery", ["hybrid_warn", "only_scan", "service_load"])
def test_the_plugins_of_apaches_worker(discovery: str, plugins: Path, broker: KafkaBroker, tmp_path: Path) -> None:
    ours = _ours(plugins, discovery)
    assert ours == _apaches(plugins, discovery, broker, tmp_path)
    names = {cls.rpartition(".")[2] for cls, _, _ in ours}
    assert {"PostgresConnector", "JdbcSinkConnector", "MirrorSourceConnector"} <= names


def _ours(plugins: Path, discovery: str) -> set[Entry]:
    found = scan([str(plugins)], PluginDiscovery(discovery))
    return {(p.cls, kind.value, p.version) for p in found for kind in p.types if kind.value in _LISTED}


def _apaches(plugins: Path, discovery: str, broker: KafkaBroker, folder: Path) -> set[Entry]:
    """What the worker lists beside the plugins of its own class path."""
    settings = {"plugin.path": str(plugins), "plugin.discovery": discovery}
    worker = java_worker(folder / "worker", broker.bootstrap, settings)
    worker.start(_START)
    try:
        listed = httpx.get(f"{worker.url}/connector-plugins", params={"connectorsOnly": "false"}).json()
    finally:
        worker.stop()
    own = _classes(connect_jars().glob("connect-*.jar"))
    return {
        (entry["class"], entry["type"], entry.get("version", UNDEFINED)) for entry in listed
        if entry["class"] not in own or entry["class"].startswith("org.apache.kafka.connect.file.")
    }  # fmt: skip


def _classes(archives: Iterable[Path]) -> set[str]:
    found: set[str] = set()
    for archive in archives:
        with zipfile.ZipFile(archive) as jar:
            found |= {name.removesuffix(".class").replace("/", ".") for name in jar.namelist()}
    return found
