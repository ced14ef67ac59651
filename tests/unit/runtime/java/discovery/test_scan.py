"""Plugins found in jars; what Apache's worker finds in the same jars is compared in tests/scenario."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from runtime.java.discovery.java_plugin import JavaPluginType
from runtime.java.discovery.scan import MissingServiceEntryError, PluginDiscovery, scan
from runtime.java.discovery.worker_classes import refused
from runtime.plugins.java_plugins import is_worker_plugin
from tests.support.java.connect_jars import connect_jars

_SCAN = PluginDiscovery.ONLY_SCAN


def test_edge_cases(edge_cases: Path) -> None:
    found = {plugin.cls.removeprefix("edge.Cases$"): plugin for plugin in scan([str(edge_cases)])}
    assert {name: (plugin.version, plugin.version_is_certain) for name, plugin in found.items()} == {
        "Called": ("2.0", True),
        "CallsMethod": ("base", True),
        "CallsSuper": ("2.0", True),
        "Constant": ("1.2.3", True),
        "Declared": ("undefined", True),
        "ExtendsConverter": ("4.3.0", True),
        "ExtendsRouter": ("4.3.0", True),
        "ExtendsValue": ("4.3.0", True),
        "Null": ("null", True),
        "OfManifest": ("9.9", False),
        "OverridesMethod": ("sub", True),
        "Plain": ("undefined", True),
        "UsesContext": ("undefined", True),
        "UsesHerder": ("undefined", True),
        "org.apache.kafka.connect.own.Own": ("undefined", True),
    }
    assert found["ExtendsConverter"].types == (JavaPluginType.CONVERTER, JavaPluginType.HEADER_CONVERTER)
    assert found["Declared"].types == found["Declared"].service_types == (JavaPluginType.CONFIG_PROVIDER,)
    assert found["Plain"].types == (JavaPluginType.TRANSFORMATION,) and not found["Plain"].service_types
    assert {plugin.jar for plugin in found.values()} == {edge_cases}


def test_classes_of_the_worker_are_found_in_code_and_text_and_through_other_classes(edge_cases: Path) -> None:
    used = {plugin.cls.removeprefix("edge.Cases$"): plugin.worker_classes for plugin in scan([str(edge_cases)])}
    connect = "org.apache.kafka.connect"
    assert {name: names for name, names in used.items() if names} == {
        "UsesContext": (f"{connect}.runtime.WorkerSinkTaskContext",),
        "UsesHerder": (f"{connect}.runtime.HerderConnectorContext", f"{connect}.util.ConnectorTaskId"),
    }
    assert refused(used["UsesHerder"]) == [f"{connect}.runtime.HerderConnectorContext"]
    assert not refused(used["UsesContext"])


def test_plugins_of_the_worker_itself_are_known_by_class_and_alias(edge_cases: Path) -> None:
    folders = [str(edge_cases)]
    assert is_worker_plugin("edge.Cases$Declared", folders) and is_worker_plugin("Cases$Declared", folders)
    assert not is_worker_plugin("edge.Cases$Declared", []) and not is_worker_plugin("edge.Cases$Plain", folders)
    assert is_worker_plugin("EnvVar", []) and is_worker_plugin("PrincipalConnectorClientConfigOverridePolicy", [])


def test_a_folder_of_class_files(edge_cases: Path) -> None:
    plugins = scan([str(edge_cases.parent)])
    locations = {plugin.location for plugin in plugins}
    assert locations == {edge_cases, edge_cases.parent / "classes"}
    # Without a manifest only the class itself knows its version, and a provider without service entry is none.
    of_folder = {p.cls: p for p in plugins if p.location != edge_cases}
    assert of_folder["edge.Cases$OfManifest"].version is None
    assert "edge.Cases$Declared" not in of_folder


def test_rejected_classes_are_reported(edge_cases: Path, caplog: pytest.LogCaptureFixture) -> None:
    scan([str(edge_cases)])
    assert "edge.Cases$PackagePrivate is not a plugin" in caplog.text
    assert "edge.Cases$WithoutInterface cannot be loaded, since edge.Gone is missing" in caplog.text


def test_plugin_discovery(edge_cases: Path) -> None:
    path = [str(edge_cases)]
    assert [plugin.cls for plugin in scan(path, PluginDiscovery.SERVICE_LOAD)] == ["edge.Cases$Declared"]
    assert scan(path, _SCAN) == scan(path, PluginDiscovery.HYBRID_WARN)
    with pytest.raises(MissingServiceEntryError, match=r"edge\.Cases\$Plain \(.*set plugin\.discovery=hybrid_warn"):
        scan(path, PluginDiscovery.HYBRID_FAIL)
    connect_file = _jar("connect-file")
    declared = scan([str(connect_file)], PluginDiscovery.HYBRID_FAIL)
    assert declared == scan([str(connect_file)], PluginDiscovery.SERVICE_LOAD)


def test_several_versions_of_a_plugin_are_found(tmp_path: Path) -> None:
    for version in ("one", "two"):
        (tmp_path / version / "lib").mkdir(parents=True)
        shutil.copy(_jar("connect-file"), tmp_path / version / "lib")
    found = scan([str(tmp_path)])
    assert [(plugin.location.name, plugin.cls.rpartition(".")[2], plugin.version) for plugin in found] == [
        (location, f"FileStream{kind}Connector", "4.3.0") for location in ("one", "two") for kind in ("Sink", "Source")
    ]


def test_jars_of_kafka_have_no_plugins_but_those_that_locations_isolate(tmp_path: Path) -> None:
    for jar in sorted(connect_jars().glob("connect-*.jar")):
        shutil.copy(jar, tmp_path)
    found = {plugin.cls for plugin in scan([str(tmp_path)], _SCAN)}
    packages = {name.removeprefix("org.apache.kafka.connect.").partition(".")[0] for name in found}
    assert packages == {"connector", "converters", "file", "json", "storage", "transforms"}


def test_results_are_kept_until_a_jar_changes(tmp_path: Path) -> None:
    cache, jar = tmp_path / "cache", tmp_path / "plugins" / "file" / "connect.jar"
    jar.parent.mkdir(parents=True)
    shutil.copy(_jar("connect-file"), jar)
    path = [str(tmp_path / "plugins")]
    first = scan(path, cache=cache)
    assert len(first) == 2
    stat = jar.stat()
    # The content is not read again, as its size and time show no change.
    jar.write_bytes(b"x" * stat.st_size)
    os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert scan(path, cache=cache) == first
    os.utime(jar)
    assert scan(path, cache=cache) == []


def test_a_damaged_cache_costs_nothing_but_time(tmp_path: Path) -> None:
    path = [str(_jar("connect-file"))]
    first = scan(path, cache=tmp_path)
    for file in tmp_path.iterdir():
        file.write_text("{")
    assert scan(path, cache=tmp_path) == first == scan(path, cache=tmp_path)


def _jar(name: str) -> Path:
    return connect_jars() / f"{name}-4.3.0.jar"
