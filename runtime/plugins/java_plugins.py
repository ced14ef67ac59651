"""The Java plugins in `plugin.path` as entries of the catalog."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runtime.java.discovery.connect_api import OF_WORKER, SERVICES_ONLY, is_named
from runtime.java.discovery.java_plugin import UNDEFINED, JavaPlugin
from runtime.java.discovery.locations import class_path
from runtime.java.discovery.scan import PluginDiscovery, scan
from runtime.java.discovery.scan_cache import ScanCache, state_of
from runtime.java.target import JavaTarget
from runtime.plugins.plugin import Plugin, PluginType
from runtime.system.cache import cache_folder

_TYPES = {kind.value: kind for kind in PluginType}


@dataclass(frozen=True, slots=True)
class JavaDiscovery:
    """How Java plugins are found: the value of `plugin.discovery`, and the classes (`package.Class` or `package.*`)
    that are preferred over bundled plugins of the same name."""

    mode: str = PluginDiscovery.HYBRID_WARN
    prefer: tuple[str, ...] = ()

    def prefers(self, cls: str) -> bool:
        """Whether a Java class is preferred over the bundled one."""
        return any(cls == name or (name.endswith(".*") and cls.startswith(name[:-1])) for name in self.prefer)


BY_DEFAULT = JavaDiscovery()


def java_plugins(folders: Sequence[str], discovery: JavaDiscovery = BY_DEFAULT) -> list[Plugin]:
    """The connectors, converters, transformations and predicates, by location and class name. Raises
    MissingServiceEntryError."""
    plugins = scan(folders, PluginDiscovery(discovery.mode), _cache())
    return [replace(plugin, preferred=discovery.prefers(plugin.cls)) for plugin in _listed(plugins)]


def is_worker_plugin(name: str, folders: Sequence[str]) -> bool:
    """Whether this class name or alias is that of a config provider, a REST extension or a policy for client settings,
    of Kafka or in the folders: plugins of the worker itself, whose definitions Connect does not show."""
    in_jars = [(plugin.cls, kind) for plugin in scan(folders, cache=_cache()) for kind in plugin.types]
    return any(kind in SERVICES_ONLY and is_named(cls, kind, name) for cls, kind in (*OF_WORKER.items(), *in_jars))


def remember_versions(versions: Mapping[str, str | None]) -> None:
    """Keep the versions that classes have reported, by target, until their jars change; None if an instance cannot be
    created, so that the class is not a plugin."""
    by_location: dict[str, dict[str, str | None]] = {}
    for text, version in versions.items():
        target = JavaTarget.parse(text)
        by_location.setdefault(target.location, {})[target.cls] = version
    cache = ScanCache(_cache())
    for location, own in by_location.items():
        cache.update(Path(location), class_path(Path(location)), lambda plugin, own=own: _known(plugin, own))  # type: ignore[misc]  # a default binds `own`


def _known(plugin: JavaPlugin, versions: Mapping[str, str | None]) -> JavaPlugin:
    if plugin.cls not in versions:
        return plugin
    version = versions[plugin.cls]
    types = plugin.types if version is not None else ()
    return replace(plugin, version=version, version_is_certain=True, types=types, service_types=plugin.service_types)


def _cache() -> Path:
    return cache_folder() / "java-plugins"


def _listed(plugins: Sequence[JavaPlugin]) -> Iterator[Plugin]:
    revisions: dict[Path, str] = {}
    for plugin in plugins:
        kinds = tuple(_TYPES[kind.value] for kind in plugin.types if kind.value in _TYPES)
        if kinds:
            if plugin.location not in revisions:
                revisions[plugin.location] = _revision(plugin.location)
            yield Plugin(
                plugin.cls,
                str(JavaTarget(plugin.cls, str(plugin.location))),
                kinds,
                plugin.version or UNDEFINED,
                revision=revisions[plugin.location],
                language="java",
                file=str(plugin.jar),
                certain=plugin.version_is_certain,
                worker_classes=plugin.worker_classes,
            )


def _revision(location: Path) -> str:
    """Changes when any jar of the location changes."""
    try:
        return hashlib.sha256(repr(state_of(class_path(location))).encode()).hexdigest()[:16]
    except OSError:
        return ""
