"""The registry of plugins: bundled ones by their Java names, and Python plugins in `plugin.path`.

Importing this module imports no plugin; bundled plugins are imported when they are loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache

from runtime.plugins import plugin_path as python_plugins
from runtime.plugins.plugin import Plugin, PluginType
from runtime.transforms.bundled import PREDICATES, TRANSFORMATIONS

__all__ = [
    "BUNDLED",
    "CONNECTORS",
    "Plugin",
    "PluginRegistry",
    "PluginType",
    "entries",
    "load",
    "load_target",
    "registry",
]

_log = logging.getLogger(__name__)


CONNECTORS = (PluginType.SINK, PluginType.SOURCE)
_BOTH = (PluginType.CONVERTER, PluginType.HEADER_CONVERTER)
_K = "org.apache.kafka.connect."

BUNDLED: tuple[tuple[str, str, tuple[PluginType, ...]], ...] = (
    (f"{_K}file.FileStreamSinkConnector", "runtime.connectors.file_sink:FileStreamSinkConnector", (PluginType.SINK,)),
    (
        f"{_K}file.FileStreamSourceConnector",
        "runtime.connectors.file_source:FileStreamSourceConnector",
        (PluginType.SOURCE,),
    ),
    (
        "headrace.DatagenSourceConnector",
        "runtime.connectors.datagen.source:DatagenSourceConnector",
        (PluginType.SOURCE,),
    ),
    (
        f"{_K}tools.VerifiableSinkConnector",
        "runtime.connectors.verifiable.sink:VerifiableSinkConnector",
        (PluginType.SINK,),
    ),
    (
        f"{_K}tools.VerifiableSourceConnector",
        "runtime.connectors.verifiable.source:VerifiableSourceConnector",
        (PluginType.SOURCE,),
    ),
    (f"{_K}converters.BooleanConverter", "runtime.converters.numeric:BooleanConverter", _BOTH),
    (f"{_K}converters.ByteArrayConverter", "runtime.converters.bytes:ByteArrayConverter", _BOTH),
    (f"{_K}converters.DoubleConverter", "runtime.converters.numeric:DoubleConverter", _BOTH),
    (f"{_K}converters.FloatConverter", "runtime.converters.numeric:FloatConverter", _BOTH),
    (f"{_K}converters.IntegerConverter", "runtime.converters.numeric:IntegerConverter", _BOTH),
    (f"{_K}converters.LongConverter", "runtime.converters.numeric:LongConverter", _BOTH),
    (f"{_K}converters.ShortConverter", "runtime.converters.numeric:ShortConverter", _BOTH),
    (f"{_K}json.JsonConverter", "runtime.converters.json.json:JsonConverter", _BOTH),
    (
        f"{_K}storage.SimpleHeaderConverter",
        "runtime.converters.header:SimpleHeaderConverter",
        (PluginType.HEADER_CONVERTER,),
    ),
    (f"{_K}storage.StringConverter", "runtime.converters.string:StringConverter", _BOTH),
    *((name, target, (PluginType.TRANSFORMATION,)) for name, target in TRANSFORMATIONS),
    *((name, target, (PluginType.PREDICATE,)) for name, target in PREDICATES),
)
"""Java name, target ("module:Class") and types of each bundled plugin."""

EXTRAS: tuple[tuple[str, str, tuple[PluginType, ...]], ...] = (
    ("io.confluent.connect.avro.AvroConverter", "runtime.converters.avro.avro:AvroConverter", (PluginType.CONVERTER,)),
)
"""Bundled plugins with optional dependencies, which are found by name but not listed."""


class PluginRegistry:
    """All plugins of a worker with this `plugin.path`, by class name and alias."""

    def __init__(self, plugin_path: Sequence[str] = ()) -> None:
        self.plugin_path = tuple(plugin_path)
        plugins = [Plugin(cls, target, kinds) for cls, target, kinds in BUNDLED]
        plugins += [Plugin(cls, target, kinds, listed=False) for cls, target, kinds in EXTRAS]
        plugins += python_plugins.scan(self.plugin_path)
        self._by_name = _named(plugins)

    def find(self, name: str, kinds: Iterable[PluginType] = tuple(PluginType)) -> Plugin | None:
        """The plugin of this class name or alias (case-sensitive), if it has one of these types."""
        plugin = self._by_name.get(name)
        return plugin if plugin is not None and set(plugin.kinds) & set(kinds) else None

    def of_kind(self, kind: PluginType) -> list[Plugin]:
        """The listed plugins of this type, sorted by class name."""
        return sorted({p for p in self._by_name.values() if kind in p.kinds and p.listed}, key=lambda p: p.cls)

    def entries(self, connectors_only: bool) -> list[dict[str, str]]:
        """The response of GET /connector-plugins, ordered by type and class name."""
        kinds = CONNECTORS if connectors_only else tuple(PluginType)
        return [
            {"class": p.cls, "type": kind.value, "version": p.version} for kind in kinds for p in self.of_kind(kind)
        ]

    def load_class(self, plugin: Plugin) -> type:
        """Imports the plugin's class."""
        return load_target(plugin.target, self.plugin_path)


def _named(plugins: Iterable[Plugin]) -> dict[str, Plugin]:
    """Plugins by class name and alias. The first plugin of a class name wins; ambiguous aliases are omitted."""
    classes: dict[str, Plugin] = {}
    for plugin in plugins:
        if plugin.cls in classes:
            _log.warning("Ignoring %s: a plugin named %s already exists", plugin.target, plugin.cls)
        classes.setdefault(plugin.cls, plugin)
    aliases: dict[str, list[Plugin]] = {}
    for plugin in classes.values():
        for alias in plugin.aliases:
            aliases.setdefault(alias, []).append(plugin)
    for alias in [a for a, owners in aliases.items() if len(owners) > 1]:
        names = ", ".join(p.cls for p in aliases.pop(alias))
        _log.warning("The alias %s is ambiguous (%s) and not available: use the full class name", alias, names)
    return {**{alias: owners[0] for alias, owners in aliases.items()}, **classes}


@lru_cache(maxsize=8)
def registry(plugin_path: tuple[str, ...] = ()) -> PluginRegistry:
    """The registry of a `plugin.path`, whose folders are scanned once per process."""
    return PluginRegistry(plugin_path)


def load(kind: PluginType | str, name: str, plugin_path: Sequence[str] = ()) -> type:
    """The class of a plugin by class name or alias; LookupError if no plugin of this type has the name."""
    plugins = registry(tuple(plugin_path))
    plugin = plugins.find(name, (PluginType(kind),))
    if plugin is None:
        raise LookupError(f"There is no {kind} plugin named {name}")
    return plugins.load_class(plugin)


def load_target(target: str, plugin_path: Sequence[str] = ()) -> type:
    """Imports the class "package.module:Class", also from the folders of `plugin.path`."""
    module, _, qualname = target.partition(":")
    found: object = python_plugins.import_module(module, plugin_path)
    for part in qualname.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise TypeError(f"{target} is not a class")
    return found


def entries(connectors_only: bool, plugin_path: Sequence[str] = ()) -> list[dict[str, str]]:
    """PluginRegistry.entries() of a `plugin.path`."""
    return registry(tuple(plugin_path)).entries(connectors_only)
