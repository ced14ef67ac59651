"""The plugins that a configuration selects: versions, environments, conflicts, and reloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from runtime.api.errors import ConfigError
from runtime.model.environment import Environment
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.plan import PluginPlan, UnknownConnectorError, plan, selects_plugins
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.registry import PluginRegistry

SOURCE, TRANSFORMATION, CONVERTER = PluginType.SOURCE, PluginType.TRANSFORMATION, PluginType.CONVERTER


def _plugin(cls: str, kind: PluginType, version: str, environment: str = "", revision: str = "a") -> Plugin:
    module, _, name = cls.rpartition(".")
    return Plugin(cls, f"{module}:{name}", (kind,), version, environment=environment, revision=revision)


PLUGINS = (
    _plugin("hr.Orders", SOURCE, "1.0", "orders-1-aa"),
    _plugin("hr.Orders", SOURCE, "2.0", "orders-2-bb"),
    _plugin("hr.Mask", TRANSFORMATION, "1.0", "orders-1-aa"),
    _plugin("other.Mask9", TRANSFORMATION, "9", "masks-cc"),
    _plugin("plain.Trim", TRANSFORMATION, "1.0"),
    _plugin("conv.Xml", CONVERTER, "1.0", "orders-1-aa"),
    _plugin("conv.Xml", CONVERTER, "1.0", "masks-cc"),
)


def _catalog(*plugins: Plugin) -> PluginCatalog:
    return PluginCatalog(
        plugins, {p.environment: Environment(p.environment, ("/x",)) for p in plugins if p.environment}
    )


def _plan(config: Mapping[str, str], catalog: PluginCatalog | None = None) -> PluginPlan:
    return plan(config, {"value.converter": "Json"}, PluginRegistry(catalog=catalog or _catalog(*PLUGINS)))


def _chain(*types: str) -> dict[str, str]:
    return {"transforms": ",".join(f"t{i}" for i in range(len(types)))} | {
        f"transforms.t{i}.type": name for i, name in enumerate(types)
    }


@pytest.mark.parametrize(
    ("wanted", "version", "environment"),
    [
        ({}, "2.0", "orders-2-bb"),
        ({"connector.plugin.version": "latest"}, "2.0", "orders-2-bb"),
        ({"connector.plugin.version": "1.0"}, "1.0", "orders-1-aa"),
        ({"connector.plugin.version": "[1,2)"}, "1.0", "orders-1-aa"),
        ({"connector.plugin.version": "[1,)"}, "2.0", "orders-2-bb"),
    ],
)
def test_the_newest_version_of_the_range_is_selected(wanted: dict[str, str], version: str, environment: str) -> None:
    found = _plan({"connector.class": "Orders", **wanted})
    assert found.connector.version == version and found.environment is not None
    assert found.environment.id == environment
    assert found.targets["connector.class"] == "hr:Orders"
    assert found.targets["value.converter"] == "runtime.converters.json.json:JsonConverter"


def test_a_version_that_no_plugin_has() -> None:
    message = r"hr\.Orders not found that matches the version range \[3,3\], available versions: \[1\.0, 2\.0\]"
    with pytest.raises(ConfigError, match=message):
        _plan({"connector.class": "Orders", "connector.plugin.version": "3"})
    with pytest.raises(UnknownConnectorError):
        _plan({"connector.class": "Mask"})


@pytest.mark.parametrize(
    ("config", "environment"),
    [
        ({"connector.class": "FileStreamSource"}, None),
        ({"connector.class": "FileStreamSource", **_chain("plain.Trim")}, None),
        ({"connector.class": "FileStreamSource", **_chain("plain.Trim", "hr.Mask")}, "orders-1-aa"),
        ({"connector.class": "FileStreamSource", "value.converter": "conv.Xml", **_chain("other.Mask9")}, "masks-cc"),
        ({"connector.class": "Orders", "connector.plugin.version": "1.0", "key.converter": "Xml"}, "orders-1-aa"),
        ({"connector.class": "Orders", **_chain("plain.Trim", "nowhere.Unknown")}, "orders-2-bb"),
    ],
)
def test_all_plugins_of_a_connector_share_an_environment(config: dict[str, str], environment: str | None) -> None:
    found = _plan(config).environment
    assert (found.id if found else None) == environment


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"connector.class": "Orders", **_chain("hr.Mask")},
            "connector.class=Orders is in the plugin environment orders-2-bb, but transforms.t0.type=hr.Mask is in "
            "orders-1-aa",
        ),
        (
            {"connector.class": "FileStreamSource", **_chain("hr.Mask", "other.Mask9")},
            "orders-1-aa, but transforms.t1.type=other.Mask9 is in masks-cc",
        ),
    ],
)
def test_plugins_of_two_environments_are_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _plan(config)


def test_the_version_of_a_worker_converter_applies_to_connectors_without_their_own() -> None:
    registry = PluginRegistry(
        catalog=_catalog(_plugin("conv.Xml", CONVERTER, "1"), _plugin("conv.Xml", CONVERTER, "2"))
    )
    defaults = {"key.converter": "Xml", "key.converter.plugin.version": "3"}
    with pytest.raises(ConfigError, match=r"available versions: \[1, 2\]"):
        plan({"connector.class": "FileStreamSource"}, defaults, registry)
    found = plan({"connector.class": "FileStreamSource", "key.converter": "Xml"}, defaults, registry)
    assert found.targets["key.converter"] == "conv:Xml"


def test_a_version_without_a_converter_has_no_effect() -> None:
    config = {"connector.class": "FileStreamSource", "value.converter.plugin.version": "9"}
    assert "value.converter" not in plan(config, {}, PluginRegistry()).targets


def test_the_revision_changes_with_the_code_of_any_plugin() -> None:
    config = {"connector.class": "FileStreamSource", **_chain("plain.Trim")}
    changed = [replace(p, revision="b") if p.cls == "plain.Trim" else p for p in PLUGINS]
    assert _plan(config).revision == _plan(config, _catalog(*PLUGINS)).revision
    assert _plan(config).revision != _plan(config, _catalog(*changed)).revision


def test_changed_code_without_environment_gets_new_processes() -> None:
    config = {"connector.class": "FileStreamSource", **_chain("plain.Trim")}
    changed = [replace(p, revision="b") if p.cls == "plain.Trim" else p for p in PLUGINS]
    once = _catalog(*PLUGINS).reloaded(_catalog(*changed), 1)
    twice = once.reloaded(_catalog(*changed), 2)
    for catalog in (once, twice):
        environment = _plan(config, catalog).environment
        assert environment is not None and (environment.id, environment.base) == ("~1", "")
        assert _plan({"connector.class": "FileStreamSource"}, catalog).environment is None
        mixed = _plan({**config, **_chain("plain.Trim", "hr.Mask")}, catalog).environment
        assert mixed is not None and (mixed.id, mixed.base) == ("orders-1-aa~1", "orders-1-aa")


def test_a_reload_may_be_limited_to_one_plugin() -> None:
    changed = [replace(p, revision="b") for p in PLUGINS if p.version != "2.0"]
    found = _catalog(*PLUGINS).reloaded(_catalog(*changed), 1, "plain.Trim")
    assert {p.cls for p in found.plugins if p.revision == "b"} == {"plain.Trim"}
    assert "orders-2-bb" in found.environments
    gone = _catalog(*PLUGINS).reloaded(_catalog(*changed), 1, "orders")
    assert "orders-2-bb" not in gone.environments and {p.version for p in gone.plugins} == {"1.0", "9"}


def _module(name: str, environment: str, revision: str = "a") -> Plugin:
    return Plugin(name, name, (), "undefined", False, environment, revision)


MODULES = (_module("udfs", "udfs-1.9-aa"), _module("udfs", "udfs-1.10-bb"), _module("plain", ""))


def _with_modules(*modules: Plugin) -> PluginCatalog:
    catalog = _catalog(*PLUGINS)
    environments = {m.environment: Environment(m.environment, ("/x",)) for m in modules if m.environment}
    return replace(catalog, environments={**catalog.environments, **environments}, modules=modules)


def _udf(function: str, **more: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", **_chain("PythonUdf"), "transforms.t0.function": function, **more}


def test_a_function_decides_the_environment() -> None:
    found = _plan(_udf("udfs.orders:clean"), _with_modules(*MODULES))
    assert found.environment is not None and found.environment.id == "udfs-1.10-bb"
    assert found.targets["transforms.t0.function"] == "udfs"
    plain = _plan(_udf("plain.clean"), _with_modules(*MODULES))
    assert plain.environment is None and plain.targets["transforms.t0.function"] == "plain"
    missing = _plan(_udf("os:system"), _with_modules(*MODULES))
    assert missing.environment is None and "transforms.t0.function" not in missing.targets


def test_a_function_in_another_environment_than_the_connector_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"transforms.t0.function=udfs:clean is in .*udfs-1.9-aa"):
        _plan({**_udf("udfs:clean"), "connector.class": "Orders"}, _with_modules(*MODULES))


def test_changed_functions_change_the_revision_and_the_process() -> None:
    before = _with_modules(_module("plain", ""))
    after = before.reloaded(_with_modules(_module("plain", "", "b")), 3)
    old, new = (_plan(_udf("plain:clean"), catalog) for catalog in (before, after))
    assert old.revision != new.revision
    assert new.environment is not None and new.environment.id == "~3"
    assert PluginCatalog.from_json(after.to_json()) == after
    assert [module.cls for module in after.named("plain")][-1:] == ["plain"]


def test_a_data_source_decides_the_environment() -> None:
    config = {"connector.class": "DataSource", "data.source": "udfs.sources.Orders"}
    found = _plan(config, _with_modules(*MODULES))
    assert found.environment is not None and found.environment.id == "udfs-1.10-bb"
    assert _plan({**config, "data.source": "pyspark_other.Orders"}, _with_modules(*MODULES)).environment is None


@pytest.mark.parametrize(
    "config",
    [
        _udf("udfs:clean"),
        {"connector.class": "DataSource", "data.source": "udfs.Orders"},
        {"connector.class": "Orders", "connector.plugin.version": "1.0", **_chain("Mask"), "value.converter": "Xml"},
    ],
)
def test_the_keys_that_select_plugins_are_enough(config: dict[str, str]) -> None:
    """Only these are resolved, and passed on, where a task is started."""
    catalog = _with_modules(*MODULES)
    selecting = {key: value for key, value in {**config, "topic": "t"}.items() if selects_plugins(key)}
    assert "topic" not in selecting
    assert _plan(selecting, catalog) == _plan(config, catalog)
    assert _plan(selecting, catalog).environment is not None
