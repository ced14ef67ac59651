"""Finds the Java plugins of a `plugin.path` as Apache's worker would list them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runtime import CONNECT_VERSION
from runtime.java.discovery.class_file import ClassFile, ClassFormatError, ClassMember, Reference
from runtime.java.discovery.class_index import ClassIndex
from runtime.java.discovery.connect_api import BASES, KAFKA_PLUGINS, SERVICES_ONLY, VERSIONED
from runtime.java.discovery.java_plugin import UNDEFINED, JavaPlugin, JavaPluginType
from runtime.java.discovery.locations import class_path, plugin_locations
from runtime.java.discovery.scan_cache import ScanCache

_ACONST_NULL, _LDC, _LDC_W, _ALOAD_0, _ARETURN = 0x01, 0x12, 0x13, 0x2A, 0xB0
_GETSTATIC, _INVOKEVIRTUAL, _INVOKESPECIAL, _INVOKESTATIC = 0xB2, 0xB6, 0xB7, 0xB8
_TEXT = "Ljava/lang/String;"
_RETURNS_TEXT = f"(){_TEXT}"
_KAFKA_VERSION = Reference("org.apache.kafka.common.utils.AppInfoParser", "getVersion", _RETURNS_TEXT)
_MOST_CALLS = 8


@dataclass(frozen=True, slots=True)
class PluginVersion:
    """`text` is None if it can only be computed by the class; `certain` is False if it is the manifest's."""

    text: str | None
    certain: bool


def version_of(index: ClassIndex, name: str) -> PluginVersion:
    """The version that Connect would list for this plugin class."""
    if VERSIONED not in index.ancestors(name):
        return PluginVersion(UNDEFINED, True)
    owner = _class_with_version(index, name)
    if owner is None:
        return _inherited(index, name)
    text = _Interpreter(index, name).result(owner, "version", _MOST_CALLS)
    if text is not None:
        return PluginVersion(text, True)
    return PluginVersion(index.archive_of(name).manifest().get("Implementation-Version") or None, False)


def _inherited(index: ClassIndex, name: str) -> PluginVersion:
    """Without a method of the plugin: the default, or Kafka's version if the plugin extends a plugin of Kafka."""
    extended = KAFKA_PLUGINS & index.ancestors(name)
    return PluginVersion(CONNECT_VERSION if extended else UNDEFINED, True)


def _class_with_version(index: ClassIndex, name: str) -> ClassFile | None:
    """The class or interface of the location whose version() a call would reach."""
    class_file = index.load(name)
    if class_file is None:
        return None
    method = class_file.method("version", _RETURNS_TEXT)
    if method is not None and class_file.code(method):
        return class_file
    for parent in index.parents(name):
        if (inherited := _class_with_version(index, parent)) is not None:
            return inherited
    return None


class _Interpreter:
    """Follows methods that only return a constant or call another method."""

    def __init__(self, index: ClassIndex, plugin: str) -> None:
        self._index = index
        self._plugin = plugin

    def result(self, owner: ClassFile, name: str, calls: int) -> str | None:
        method = owner.method(name, _RETURNS_TEXT)
        if method is None or not calls:
            return None
        code = owner.code(method)
        if code[-1:] != bytes([_ARETURN]):
            return None
        body = code[:-1]
        match list(body):
            case [op, at] if op == _LDC:
                return owner.string(at)
            case [op, high, low] if op == _LDC_W:
                return owner.string(high << 8 | low)
            case [op] if op == _ACONST_NULL:
                return "null"
            case [op, high, low] if op == _GETSTATIC:
                return self._constant(owner.reference(high << 8 | low))
            case [op, high, low] if op == _INVOKESTATIC:
                return self._call(owner.reference(high << 8 | low), calls - 1)
            case [this, op, high, low] if this == _ALOAD_0 and op in (_INVOKEVIRTUAL, _INVOKESPECIAL):
                target = owner.reference(high << 8 | low)
                if op == _INVOKEVIRTUAL:
                    target = Reference(self._plugin, target.name, target.descriptor)
                return self._call(target, calls - 1)
        return None

    def _call(self, target: Reference, calls: int) -> str | None:
        if target == _KAFKA_VERSION:
            return CONNECT_VERSION
        if target.descriptor != _RETURNS_TEXT:
            return None
        current: str = target.owner
        while (owner := self._index.load(current)) is not None:
            if owner.method(target.name, target.descriptor) is not None:
                return self.result(owner, target.name, calls)
            current = owner.super_name
        return None

    def _constant(self, target: Reference) -> str | None:
        owner = self._index.load(target.owner)
        field = owner.field(target.name) if owner is not None else None
        if owner is None or field is None:
            return None
        return _initial(owner, field)


def _initial(owner: ClassFile, field: ClassMember) -> str | None:
    value = field.attributes.get("ConstantValue")
    return owner.string(int.from_bytes(value)) if value else None


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
        listed = results.find(location, paths) if results else None
        if listed is None:
            listed = scan_location(location, paths)
            if results:
                results.store(location, paths, listed)
        plugins += listed
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
                index.worker_classes(name),
            )  # fmt: skip


def _can_be_created(index: ClassIndex, name: str) -> bool:
    try:
        class_file = index.load(name)
        if class_file is None or not class_file.is_concrete:
            return False
        if not class_file.is_public or not class_file.has_public_default_constructor:
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
