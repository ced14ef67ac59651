"""The plugin registry: names, aliases, order and lazy imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import CONNECT_VERSION
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.registry import BUNDLED, Plugin, PluginRegistry, PluginType, entries, load

K = "org.apache.kafka.connect."

CONNECTOR = """
from runtime.api import SourceConnector
class {name}(SourceConnector):
    def version(self): return "7.1"
    def start(self, config): pass
    def task_configs(self, max_tasks): return []
"""


def test_every_bundled_plugin_loads_and_knows_its_java_name() -> None:
    for java_name, _, kinds in BUNDLED:
        for kind in kinds:
            assert load(kind, java_name).java_name == java_name  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["FileStreamSource", "FileStreamSourceConnector", f"{K}file.FileStreamSourceConnector"]
)
def test_a_connector_has_three_names(name: str) -> None:
    plugin = PluginRegistry().find(name)
    assert plugin is not None and plugin.cls == f"{K}file.FileStreamSourceConnector"


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("Json", "json.JsonConverter"),
        ("JsonConverter", "json.JsonConverter"),
        ("String", "storage.StringConverter"),
        ("Simple", "storage.SimpleHeaderConverter"),
        ("ByteArray", "converters.ByteArrayConverter"),
    ],
)
def test_converters_have_short_names(name: str, cls: str) -> None:
    assert load("header_converter", name) is load("header_converter", K + cls)


@pytest.mark.parametrize("name", ["Datagen", "DatagenSource", "DatagenSourceConnector"])
def test_a_connector_with_a_short_name(name: str) -> None:
    plugin = PluginRegistry().find(name)
    assert plugin is not None and plugin.cls == "headrace.DatagenSourceConnector"


@pytest.mark.parametrize("name", ["filestreamsource", "Nope", "", "FileStream"])
def test_unknown_names(name: str) -> None:
    assert PluginRegistry().find(name) is None
    with pytest.raises(LookupError):
        load("source", name)


def test_a_plugin_of_another_type_is_not_found() -> None:
    with pytest.raises(LookupError, match="There is no converter plugin named FileStreamSource"):
        load("converter", "FileStreamSource")


def test_entries_have_the_order_of_connect() -> None:
    found = entries(connectors_only=False)
    assert list(dict.fromkeys(e["type"] for e in found)) == [kind.value for kind in PluginType]
    for kind in PluginType:
        classes = [e["class"] for e in found if e["type"] == kind]
        assert classes == sorted(classes)
    assert {e["version"] for e in found} == {CONNECT_VERSION}
    assert list(found[0]) == ["class", "type", "version"]
    assert list(dict.fromkeys(e["type"] for e in entries(connectors_only=True))) == ["sink", "source"]


def test_importing_the_registry_imports_no_plugin() -> None:
    code = "import sys, json, runtime.plugins.registry as p; p.entries(False); print(json.dumps(list(sys.modules)))"
    modules = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    targets = {target.partition(":")[0] for _, target, _ in BUNDLED}
    assert not targets & set(modules)
    assert not {"pyspark", "confluent_kafka", "orjson"} & set(modules)


def test_an_ambiguous_alias_is_not_available(tmp_path: Path) -> None:
    for module in ("hr_one", "hr_two"):
        (tmp_path / f"{module}.py").write_text(CONNECTOR.format(name="SameSource"))
    registry = PluginRegistry([str(tmp_path)])
    assert registry.find("SameSource") is None
    assert registry.find("hr_one.SameSource") is not None
    (conflict,) = registry.conflicts
    assert "hr_one.SameSource, hr_two.SameSource" in conflict


def test_bundled_classes_of_headrace_keep_their_aliases() -> None:
    """Debezium's JDBC sink in plugin.path must not stop connectors that use ours by its alias."""
    other = "io.debezium.connector.jdbc.JdbcSinkConnector"
    registry = PluginRegistry((), PluginCatalog((_java(other, PluginType.SINK),)))
    for alias in ("JdbcSink", "JdbcSinkConnector"):
        found = registry.find(alias)
        assert found is not None and found.cls == "headrace.JdbcSinkConnector"
    found = registry.find(other)
    assert found is not None and found.cls == other
    assert sorted(registry.conflicts) == [
        f"The alias {alias} is that of headrace.JdbcSinkConnector: use the full class name of {other}"
        for alias in ("JdbcSink", "JdbcSinkConnector")
    ]


def test_apaches_aliases_can_become_ambiguous_as_in_apaches_worker() -> None:
    registry = PluginRegistry((), PluginCatalog((_java("other.JsonConverter", PluginType.CONVERTER),)))
    assert registry.find("Json") is None
    assert "(org.apache.kafka.connect.json.JsonConverter, other.JsonConverter)" in registry.conflicts[0]


def _java(cls: str, kind: PluginType) -> Plugin:
    return Plugin(cls, f"java:{cls}@/plugins/other", (kind,), version="1", language="java")
