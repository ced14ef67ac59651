"""Checks of Java plugins."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from runtime.doctor.java_plugins import check_java_plugins
from tests.support.java.sources.edge_cases import edge_case_jar


def _found(folder: Path, properties: str) -> list[str]:
    worker = folder / "worker.properties"
    worker.write_text(properties)
    return [str(result) for result in check_java_plugins(worker)][1:]


def test_problems_of_plugin_path_are_named(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    (plugins / "edge").mkdir(parents=True)
    edge_case_jar(plugins / "edge")
    (plugins / "empty").mkdir()
    with zipfile.ZipFile(plugins / "empty" / "library.jar", "w") as jar:
        jar.writestr("a.txt", "a")
    found = _found(tmp_path, f"plugin.path={plugins},{tmp_path / 'missing'}\n")
    assert found[0].startswith(f"BAD   plugins    plugin.path: {tmp_path / 'missing'} does not exist")
    herder = "edge.Cases$UsesHerder uses org.apache.kafka.connect.runtime.HerderConnectorContext"
    assert any(
        line.startswith("BAD") and f"{plugins / 'edge'}: {herder}: Headrace does not have" in line for line in found
    )
    assert any("has jars without plugins" in line and line.startswith("note") for line in found)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("plugin.path={jar}\nplugin.discovery=hybrid_fail\n", "no entry in META-INF/services for edge."),
        ("plugin.path={jar}\nplugin.discovery=other\n", "choose from only_scan"),
    ],
)
def test_plugin_discovery_is_checked(properties: str, message: str, tmp_path: Path) -> None:
    (line,) = _found(tmp_path, properties.format(jar=edge_case_jar(tmp_path)))
    assert line.startswith("BAD")
    assert message in line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    last = [str(result) for result in check_java_plugins(tmp_path / "none.properties")][-1]
    assert "none.properties" in last
