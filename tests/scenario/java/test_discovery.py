"""Java plugins that are found without a JVM, compared with the list of Apache's worker over the same `plugin.path`."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest

from runtime.embedded.broker import coordinates
from runtime.java.discovery.java_plugin import UNDEFINED
from runtime.java.discovery.scan import PluginDiscovery, scan
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.broker import KafkaBroker
from tests.support.java_plugins.edge_cases import edge_case_jar
from tests.support.workers import java_worker

_MIRROR = ("org.apache.kafka:connect-mirror:4.3.0", "org.apache.kafka:connect-mirror-client:4.3.0")
_LISTED = {"sink", "source", "transformation", "predicate", "converter", "header_converter"}

Entry = tuple[str, str, str | None]


@pytest.mark.soak
@pytest.mark.parametrize("discovery", ["hybrid_warn", "service_load"])
def test_the_plugins_of_apaches_worker(discovery: str, broker: KafkaBroker, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    java = find_java()
    shutil.copytree(jars.fetch("mirror", _MIRROR, java), plugins / "mirror" / "lib")
    (plugins / "file").mkdir()
    shutil.copy(jars.fetch("java-connect", coordinates.JAVA_CONNECT, java) / "connect-file-4.3.0.jar", plugins / "file")
    edge_case_jar(tmp_path)
    shutil.move(tmp_path / "edge-cases.jar", plugins)
    assert _ours(plugins, discovery) == _apaches(plugins, discovery, broker, tmp_path)


def _ours(plugins: Path, discovery: str) -> set[Entry]:
    found = scan([str(plugins)], PluginDiscovery(discovery))
    return {(p.cls, kind.value, p.version) for p in found for kind in p.types if kind.value in _LISTED}


def _apaches(plugins: Path, discovery: str, broker: KafkaBroker, folder: Path) -> set[Entry]:
    """What the worker lists beside the plugins of its own class path."""
    settings = {"plugin.path": str(plugins), "plugin.discovery": discovery}
    worker = java_worker(folder / "worker", broker.bootstrap, settings)
    worker.start()
    try:
        listed = httpx.get(f"{worker.url}/connector-plugins", params={"connectorsOnly": "false"}).json()
    finally:
        worker.stop()
    own = _classes(jars.fetch("java-connect", coordinates.JAVA_CONNECT, find_java()).glob("connect-*.jar"))
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
