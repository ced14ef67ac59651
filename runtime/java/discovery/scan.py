"""Finds the Java plugins of a `plugin.path` as Apache's worker would list them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from runtime.java.discovery.class_file import ClassFormatError
from runtime.java.discovery.class_index import ClassIndex
from runtime.java.discovery.connect_api import BASES, SERVICES_ONLY, is_from_worker
from runtime.java.discovery.java_plugin import JavaPlugin, JavaPluginType
from runtime.java.discovery.locations import class_path, plugin_locations
from runtime.java.discovery.plugin_version import version_of
from runtime.java.discovery.scan_cache import ScanCache

_log = logging.getLogger(__name__)


class PluginDiscovery(StrEnum):
    """The values of `plugin.discovery` (KIP-898): by super types, by service entries, or both."""

    ONLY_SCAN = "only_scan"
    HYBRID_WARN = "hybrid_warn"
    HYBRID_FAIL = "hybrid_fail"
    SERVICE_LOAD = "service_load"


class MissingServiceEntryError(Exception):
    """`plugin.discovery=hybrid_fail`, and plugins have no service entry."""


def scan(
    plugin_path: Sequence[str],
    discovery: PluginDiscovery = PluginDiscovery.HYBRID_WARN,
    cache: Path | None = None,
) -> list[JavaPlugin]:
    """All plugins, by location and class name. `cache` is a folder for results, which are valid while no jar changes.

    Raises MissingServiceEntryError.
    """
    results = ScanCache(cache) if cache is not None else None
    plugins: list[JavaPlugin] = []
    for location in plugin_locations(plugin_path):
        paths = class_path(location)
        found = results.find(location, paths) if results else None
        if found is None:
            found = scan_location(location, paths)
            if results:
                results.store(location, paths, found)
        plugins += found
    return _by_discovery(plugins, discovery)


def scan_location(location: Path, paths: Sequence[Path]) -> list[JavaPlugin]:
    """All plugins of one location, with and without service entries, in the order of their class names."""
    if not paths:
        return []
    with ClassIndex(paths) as index:
        return sorted(_plugins(index, location), key=lambda plugin: plugin.cls)


def _plugins(index: ClassIndex, location: Path) -> Iterator[JavaPlugin]:
    declared = {(interface, name) for interface, name in index.services}
    for name in index.names():
        ancestors = index.ancestors(name)
        types = [kind for kind, base in BASES.items() if base in ancestors]
        types = [kind for kind in types if kind not in SERVICES_ONLY or (BASES[kind], name) in declared]
        if types and _can_be_created(index, name):
            version = version_of(index, name)
            yield JavaPlugin(
                name, tuple(types), version.text, version.certain, location, index.archive_of(name).path,
                tuple(kind for kind in types if (BASES[kind], name) in declared),
            )  # fmt: skip


def _can_be_created(index: ClassIndex, name: str) -> bool:
    if is_from_worker(name):
        return False
    try:
        found = index.load(name)
        if found is None or not found.is_concrete:
            return False
        if not found.is_public or not found.has_public_default_constructor:
            _log.warning("plugin.path: %s is not a plugin: the class and its constructor without arguments must "
                         "be public", name)  # fmt: skip
            return False
    except ClassFormatError as error:
        _log.error("plugin.path: %s cannot be read: %s", name, error)
        return False
    if missing := index.missing(name):
        _log.error("plugin.path: %s cannot be loaded, since %s is missing", name, ", ".join(sorted(missing)))
    return not missing


def _by_discovery(plugins: Sequence[JavaPlugin], discovery: PluginDiscovery) -> list[JavaPlugin]:
    if discovery is PluginDiscovery.ONLY_SCAN:
        return list(plugins)
    if discovery is PluginDiscovery.SERVICE_LOAD:
        return [declared for plugin in plugins if (declared := plugin.as_declared()) is not None]
    missing = [plugin for plugin in plugins if set(plugin.types) - set(plugin.service_types)]
    if missing and discovery is PluginDiscovery.HYBRID_FAIL:
        names = ", ".join(f"{plugin.cls} ({plugin.location})" for plugin in missing)
        raise MissingServiceEntryError(
            f"plugin.discovery=hybrid_fail: no entry in META-INF/services for {names}; add the entries to their jars, "
            f"or set plugin.discovery=hybrid_warn"
        )
    for plugin in missing:
        _log.debug("%s in %s has no entry in META-INF/services", plugin.cls, plugin.location)
    return list(plugins)


__all__ = ["JavaPlugin", "JavaPluginType", "MissingServiceEntryError", "PluginDiscovery", "scan", "scan_location"]
