"""Plugins that installed distributions declare with entry points of the group `headrace.plugins`."""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runtime.plugins.class_finder import ClassFinder, PluginClass
from runtime.plugins.plugin import PluginType
from runtime.system.python_sources.class_sources import UndecidedError
from runtime.system.python_sources.module_source import UnreadableSourceError

_log = logging.getLogger(__name__)

GROUP = "headrace.plugins"


@dataclass(frozen=True, slots=True)
class Declared:
    """A plugin of an entry point, and the version of its distribution."""

    plugin: PluginClass
    version: str


class Distributions:
    """The distributions in some folders; None for those that this process imports from."""

    def __init__(self, folders: Sequence[str] | None = None) -> None:
        self._path = sys.path if folders is None else list(folders)
        self._entry_points: dict[tuple[str, str], tuple[importlib.metadata.EntryPoint, str]] = {}
        for distribution in importlib.metadata.distributions(path=self._path):
            try:
                self._add(distribution)
            except Exception as error:  # damaged metadata of one distribution
                _log.warning("The metadata of a distribution cannot be read: %r", error)

    def _add(self, distribution: importlib.metadata.Distribution) -> None:
        """The metadata is parsed only if there are entry points of the group, since that takes a millisecond."""
        if f"[{GROUP}]" not in (distribution.read_text("entry_points.txt") or ""):
            return
        version = self.version(distribution.name)  # of the first one on the path, which is imported
        for point in distribution.entry_points:
            if point.group == GROUP and version == distribution.version:
                self._entry_points.setdefault((point.name, point.value), (point, version))

    def version(self, name: str) -> str | None:
        """The version of a distribution."""
        found = next(iter(importlib.metadata.distributions(name=name, path=self._path)), None)
        return None if found is None else found.version

    @property
    def declare_plugins(self) -> bool:
        """Whether any distribution has an entry point of the group."""
        return bool(self._entry_points)

    def plugins(self, finder: ClassFinder) -> Iterator[Declared]:
        """The declared plugins. A value is `module:Class`, or `module` for all plugin classes of a module. A name that
        begins with a plugin type and a dot, such as `sink.orders`, declares the type of a class whose source does not
        state it."""
        for (name, value), (point, version) in self._entry_points.items():
            try:
                if not point.attr:
                    yield from (Declared(plugin, version) for plugin in finder.exported(point.module))
                else:
                    yield Declared(_declared(finder, point), version)
            except (UndecidedError, UnreadableSourceError) as error:
                _log.error("The entry point %s = %s of the group %s is ignored: %s", name, value, GROUP, error)


def _declared(finder: ClassFinder, point: importlib.metadata.EntryPoint) -> PluginClass:
    kind = point.name.partition(".")[0]
    if kind in set(PluginType) and "." in point.name:
        return finder.declared(point.module, point.attr, PluginType(kind))
    try:
        return finder.plugin(point.module, point.attr)
    except UndecidedError as error:
        raise UndecidedError(f"{error}; to declare its type, name the entry point <type>.{point.name}") from None
