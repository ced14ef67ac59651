"""The registry of plugins: bundled ones by their Java names, and those of a catalog.

Importing this module imports no plugin; bundled plugins are imported when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from runtime.java.discovery.locations import class_path
from runtime.java.host.class_names import ClassNames
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.loading import load_target
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.versions import satisfies, sort_key
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

LoadJava = Callable[[str, str], type]
"""Loads a Java class by its target and kind of plugin."""

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
    ("headrace.DataSourceConnector", "runtime.connectors.data_source.source:DataSourceConnector", (PluginType.SOURCE,)),
    (
        "headrace.DataSourceSinkConnector",
        "runtime.connectors.data_source.sink:DataSourceSinkConnector",
        (PluginType.SINK,),
    ),
    ("headrace.HttpSinkConnector", "runtime.connectors.http.sink.connector:HttpSinkConnector", (PluginType.SINK,)),
    (
        "headrace.HttpSourceConnector",
        "runtime.connectors.http.source.connector:HttpSourceConnector",
        (PluginType.SOURCE,),
    ),
    ("headrace.JdbcSinkConnector", "runtime.connectors.jdbc.sink_connector:JdbcSinkConnector", (PluginType.SINK,)),
    (
        "headrace.JdbcSourceConnector",
        "runtime.connectors.jdbc.source_connector:JdbcSourceConnector",
        (PluginType.SOURCE,),
    ),
    ("headrace.FilesSinkConnector", "runtime.connectors.files.sink.connector:FilesSinkConnector", (PluginType.SINK,)),
    (
        "headrace.FilesSourceConnector",
        "runtime.connectors.files.source.connector:FilesSourceConnector",
        (PluginType.SOURCE,),
    ),
    (
        "headrace.KafkaQueryConnector",
        "runtime.connectors.spark.query.connector:KafkaQueryConnector",
        (PluginType.SOURCE,),
    ),
    (
        "headrace.PostgresCdcSourceConnector",
        "runtime.connectors.postgres.connector:PostgresCdcSourceConnector",
        (PluginType.SOURCE,),
    ),
    ("headrace.SparkSinkConnector", "runtime.connectors.spark.sink.connector:SparkSinkConnector", (PluginType.SINK,)),
    (
        "headrace.SparkSourceConnector",
        "runtime.connectors.spark.source.connector:SparkSourceConnector",
        (PluginType.SOURCE,),
    ),
    (f"{_K}tools.VerifiableSinkConnector", "runtime.connectors.verifiable:VerifiableSinkConnector", (PluginType.SINK,)),
    (
        f"{_K}tools.VerifiableSourceConnector",
        "runtime.connectors.verifiable:VerifiableSourceConnector",
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

SHORT_NAMES = {"Datagen": "headrace.DatagenSourceConnector"}
"""Further aliases of bundled plugins."""

_OWN = frozenset(cls for cls, _, _ in BUNDLED if cls.startswith("headrace."))
"""Bundled plugins that Apache's worker does not have."""

EXTRAS: tuple[tuple[str, str, tuple[PluginType, ...]], ...] = (
    (
        "io.apicurio.registry.utils.converter.AvroConverter",
        "runtime.converters.apicurio.avro:ApicurioAvroConverter",
        (PluginType.CONVERTER,),
    ),
    (
        "io.apicurio.registry.utils.converter.ExtJsonConverter",
        "runtime.converters.apicurio.ext_json:ExtJsonConverter",
        (PluginType.CONVERTER,),
    ),
    ("io.confluent.connect.avro.AvroConverter", "runtime.converters.avro.avro:AvroConverter", (PluginType.CONVERTER,)),
    (
        "io.confluent.connect.json.JsonSchemaConverter",
        "runtime.converters.json_schema.json_schema:JsonSchemaConverter",
        (PluginType.CONVERTER,),
    ),
    (
        "io.confluent.connect.protobuf.ProtobufConverter",
        "runtime.converters.protobuf.protobuf:ProtobufConverter",
        (PluginType.CONVERTER,),
    ),
)
"""Bundled plugins with optional dependencies, which are found by name but not listed."""

_WITHOUT_ALIASES = frozenset(cls for cls, _, _ in EXTRAS if cls.startswith("io.apicurio."))
"""The alias AvroConverter is that of Confluent's converter."""


class PluginRegistry:
    """The plugins of a worker, by class name and alias, in all versions.

    A process has plugins of one environment, and of none: with `environment`, find() returns only those. A package of
    the environment hides the package of the same name in `plugin.path`, as an import does.
    """

    def __init__(
        self,
        plugin_path: Sequence[str] = (),
        catalog: PluginCatalog | None = None,
        environment: str | None = None,
        java: LoadJava | None = None,
    ) -> None:
        """Without a catalog the folders are scanned. `java` loads Java plugins; see JavaClasses.load()."""
        self.plugin_path, self._java = tuple(plugin_path), java
        self.catalog = _scanned(self.plugin_path) if catalog is None else catalog
        plugins = [Plugin(cls, target, kinds) for cls, target, kinds in BUNDLED]
        plugins += [Plugin(cls, target, kinds, listed=False) for cls, target, kinds in EXTRAS]
        conflicts: list[str] = []
        self._all = _distinct([*plugins, *self.catalog.plugins], conflicts)
        self._names = _names(self._all, conflicts)
        self.conflicts = tuple(conflicts)
        """Messages about plugins that are ignored, and aliases that are not available; for the log of the worker."""
        self._by_class: dict[str, list[Plugin]] = {}
        for plugin in _in_environment(self._all, environment):
            self._by_class.setdefault(plugin.cls, []).append(plugin)
        for versions in self._by_class.values():
            versions.sort(key=_age, reverse=True)
        self._modules = _in_environment(self.catalog.modules, environment)

    def find(
        self, name: str, kinds: Iterable[PluginType] = tuple(PluginType), wanted: str | None = None
    ) -> Plugin | None:
        """The plugin of this class name or alias (case-sensitive), if it has one of these types: the newest version
        that satisfies `wanted`, or the newest one if none does."""
        candidates = self.candidates(name, kinds)
        return next(
            (plugin for plugin in candidates if satisfies(wanted, plugin.version)),
            candidates[0] if candidates else None,
        )

    def candidates(self, name: str, kinds: Iterable[PluginType] = tuple(PluginType)) -> list[Plugin]:
        """All plugins of this class name or alias that have one of these types, newest version first."""
        wanted = set(kinds)
        return [p for p in self._by_class.get(self._names.get(name, name), ()) if wanted & set(p.kinds)]

    def modules(self, name: str) -> list[Plugin]:
        """The modules of this name in which functions of users may be, or else those of the package that it is in.
        Those of later versions of an environment come first."""
        while name:
            if modules := [module for module in self._modules if module.cls == name]:
                return sorted(modules, key=_environment_age, reverse=True)
            name = name.rpartition(".")[0]
        return []

    def versions(self, cls: str) -> list[str]:
        """The versions of a class in all environments, oldest first."""
        return sorted({plugin.version for plugin in self._all if plugin.cls == cls}, key=sort_key)

    def elsewhere(self, name: str) -> str:
        """Explains that a plugin exists in other environments only; empty if it does not exist at all."""
        cls = self._names.get(name, name)
        environments = sorted({plugin.environment for plugin in self._all if plugin.cls == cls})
        if cls in self._by_class or not environments:
            return ""
        return (
            f" {cls} is in the plugin environment {', '.join(environments)}, which is not that of this connector: all "
            "plugins of a connector must be in the same environment, or in none"
        )

    def of_kind(self, kind: PluginType) -> list[Plugin]:
        """The newest versions of the listed plugins of this type, sorted by class name."""
        return [
            versions[0]
            for _, versions in sorted(self._by_class.items())
            if kind in versions[0].kinds and versions[0].listed
        ]

    def recommended(self, kind: PluginType) -> tuple[str, ...]:
        """The classes that a validation recommends for a key of this type: those that Apache's worker would recommend
        with the same plugin path."""
        return tuple(plugin.cls for plugin in self.of_kind(kind) if plugin.cls not in _OWN)

    def entries(self, connectors_only: bool) -> list[dict[str, str]]:
        """The response of GET /connector-plugins, ordered by type, class name and version."""
        kinds = CONNECTORS if connectors_only else tuple(PluginType)
        return [
            {"class": cls, "type": kind.value, "version": version}
            for kind in kinds
            for cls, versions in sorted(self._by_class.items())
            for version in sorted({p.version for p in versions if kind in p.kinds and p.listed}, key=sort_key)
        ]

    def java_names(self) -> ClassNames:
        """The names by which Java plugins may load each other, and Apache's own."""
        used = {cls: versions[0] for cls, versions in self._by_class.items() if _is_in_jvm(versions[0])}
        named = {**{cls: cls for cls in used}, **{alias: cls for alias, cls in self._names.items() if cls in used}}
        locations = {cls: plugin.package if plugin.language == "java" else None for cls, plugin in used.items()}
        jars = {place: [str(jar) for jar in class_path(Path(place))] for place in set(locations.values()) if place}
        return ClassNames({name: (cls, locations[cls]) for name, cls in named.items()}, jars)

    def load_class(self, plugin: Plugin, kind: PluginType | None = None) -> type:
        """Imports the plugin's class; for a Java plugin a class of `runtime.java.plugins.classes`. `kind`: the type
        as which it is used."""
        if plugin.language == "java":
            if self._java is None:
                raise LookupError(f"{plugin.cls} is a Java plugin, which this process cannot load")
            return self._java(plugin.target, kind or plugin.kinds[0])
        return load_target(plugin.target, self.plugin_path)


def _is_in_jvm(plugin: Plugin) -> bool:
    return plugin.language == "java" or plugin.cls.startswith(_K)


def _age(plugin: Plugin) -> tuple[Any, str]:
    """By version. Of equal versions in Java, Apache's worker uses that of the last location by name."""
    return sort_key(plugin.version), plugin.package if plugin.language == "java" else ""


def _environment_age(plugin: Plugin) -> Any:
    return sort_key(plugin.environment.rpartition("-")[0].rpartition("-")[2])


def _scanned(plugin_path: Sequence[str]) -> PluginCatalog:
    from runtime.plugins.plugin_path import scan  # imports packages that slots do not need

    return scan(plugin_path)


def _distinct(plugins: Iterable[Plugin], conflicts: list[str]) -> list[Plugin]:
    """Without repetitions: the first plugin of a class name, version and environment wins. Bundled plugins come first
    and hide Apache's own classes of the same version, unless the Java class is preferred. Each location of Java plugins
    may have a class, since their class loaders are separate."""
    plugins = list(plugins)
    preferred = {plugin.cls for plugin in plugins if plugin.preferred}
    chosen: dict[tuple[str, str, str], Plugin] = {}
    java: list[Plugin] = []
    for plugin in plugins:
        key = (plugin.cls, plugin.version, plugin.environment)
        if plugin.language == "java":
            java += [] if key in chosen else [plugin]
            continue
        if plugin.cls in preferred:
            continue
        first = chosen.setdefault(key, plugin)
        if first.target != plugin.target:
            conflicts.append(f"Ignoring {plugin.target}: a plugin named {plugin.cls} already exists")
    return [*chosen.values(), *java]


def _in_environment(plugins: Iterable[Plugin], environment: str | None) -> list[Plugin]:
    if environment is None:
        return list(plugins)
    own = [plugin for plugin in plugins if plugin.environment == environment]
    hidden = {plugin.package for plugin in own} if environment else set()
    return [*(p for p in plugins if not p.environment and p.package not in hidden), *(own if environment else ())]


def _names(plugins: Iterable[Plugin], conflicts: list[str]) -> dict[str, str]:
    """Class names by alias. Headrace's own classes keep theirs; other ambiguous aliases are omitted, as by Apache's
    worker."""
    classes = {plugin.cls for plugin in plugins}
    short = SHORT_NAMES.items()
    aliases: dict[str, dict[str, None]] = {alias: {cls: None} for alias, cls in short if cls in classes}
    for plugin in plugins:
        if plugin.cls in _WITHOUT_ALIASES:
            continue
        for alias in plugin.aliases - classes:
            aliases.setdefault(alias, {})[plugin.cls] = None
    for alias, owners in [(a, owners) for a, owners in aliases.items() if len(owners) > 1]:
        own = [cls for cls in owners if cls in _OWN]
        if len(own) == 1:
            others = ", ".join(cls for cls in owners if cls not in _OWN)
            conflicts.append(f"The alias {alias} is that of {own[0]}: use the full class name of {others}")
            aliases[alias] = dict.fromkeys(own)
        else:
            del aliases[alias]
            names = ", ".join(owners)
            conflicts.append(f"The alias {alias} is ambiguous ({names}) and not available: use the full class name")
    return {alias: next(iter(owners)) for alias, owners in aliases.items()}


@lru_cache(maxsize=8)
def registry(plugin_path: tuple[str, ...] = ()) -> PluginRegistry:
    """The registry of a `plugin.path`, whose folders are scanned once per process."""
    return PluginRegistry(plugin_path)


def java_names(plugin_path: Sequence[str]) -> ClassNames:
    """PluginRegistry.java_names() of a `plugin.path`, without Python plugins."""
    from runtime.plugins.java_plugins import java_plugins

    return PluginRegistry(plugin_path, PluginCatalog(tuple(java_plugins(plugin_path)))).java_names()


def load(kind: PluginType | str, name: str, plugin_path: Sequence[str] = ()) -> type:
    """The class of a plugin by class name or alias; LookupError if no plugin of this type has the name."""
    plugins = registry(tuple(plugin_path))
    plugin = plugins.find(name, (PluginType(kind),))
    if plugin is None:
        raise LookupError(f"There is no {kind} plugin named {name}")
    return plugins.load_class(plugin)


def entries(connectors_only: bool, plugin_path: Sequence[str] = ()) -> list[dict[str, str]]:
    """PluginRegistry.entries() of a `plugin.path`."""
    return registry(tuple(plugin_path)).entries(connectors_only)
