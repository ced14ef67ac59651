"""Finds plugin classes, their types and versions in sources. Nothing is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runtime import CONNECT_VERSION
from runtime.plugins.plugin import PluginType
from runtime.system.python_sources.class_sources import DEPTH, ClassSources, Name, UndecidedError
from runtime.system.python_sources.module_source import ModuleSource, Version

_log = logging.getLogger(__name__)

_API = "runtime.api."
_TYPES: dict[tuple[str, str], PluginType] = {
    (f"{_API}connector", "SinkConnector"): PluginType.SINK,
    (f"{_API}connector", "SourceConnector"): PluginType.SOURCE,
    (f"{_API}transformation", "Transformation"): PluginType.TRANSFORMATION,
    (f"{_API}transformation", "Predicate"): PluginType.PREDICATE,
    (f"{_API}converter", "Converter"): PluginType.CONVERTER,
    (f"{_API}converter", "HeaderConverter"): PluginType.HEADER_CONVERTER,
}
_CONNECTORS = {PluginType.SINK, PluginType.SOURCE}
_TASKS = {"task_class", "task_configs"}
"""Members of which a connector has at least one: a base class has its tasks from elsewhere."""

_MARKS = {"config_def", "task_class", "task_configs", "from_connect", "to_connect", "from_connect_header"}
"""Members by which a class is taken for a plugin although one of its base classes cannot be read."""


@dataclass(frozen=True, slots=True)
class PluginClass:
    """A plugin class as its source defines it. `version` is None if the source does not state it."""

    module: str
    name: str
    types: tuple[PluginType, ...]
    version: str | None


class ClassFinder(ClassSources):
    """Finds plugins among the classes. `distribution_version` returns the version of an installed distribution."""

    def __init__(self, path: Sequence[str], distribution_version: Callable[[str], str | None]) -> None:
        super().__init__(path)
        self._distribution_version = distribution_version

    def exported(self, module: str) -> Iterator[PluginClass]:
        """The plugin classes among the names of a module that are defined in it or in its submodules.
        UnreadableSourceError if the module itself cannot be read."""
        source = self.source(module)
        definitions: dict[Name, None] = {}
        for name in [] if source is None else self._all_names(module, source, 0):
            at = None if name.startswith("_") else self.definition(module, name)
            if at is not None and f"{at[0]}.".startswith(f"{module}."):
                definitions[at] = None
        for at in definitions:
            try:
                plugin = self._plugin(*at)
            except UndecidedError as error:
                if self.class_of(*at).members & _MARKS:
                    _log.warning("%s.%s is not listed as a plugin: %s", *at, error)
                continue
            if plugin is not None:
                yield plugin

    def plugin(self, module: str, name: str) -> PluginClass:
        """The plugin class of this name. UndecidedError, also for a class that is not a plugin."""
        at = self.definition(module, name)
        if at is None:
            raise UndecidedError(f"no class statement for {name} was found in the source of {module}")
        plugin = self._plugin(*at)
        if plugin is None:
            raise UndecidedError(f"{'.'.join(at)} is abstract, or not derived from a plugin type of runtime.api")
        return plugin

    def declared(self, module: str, name: str, kind: PluginType) -> PluginClass:
        """A class whose type is declared elsewhere; its source need not be readable."""
        at = self.definition(module, name)
        return PluginClass(module, name, (kind,), None) if at is None else PluginClass(*at, (kind,), self._version(*at))

    def _plugin(self, module: str, name: str) -> PluginClass | None:
        line = list(self.ancestors(module, name))
        types = tuple(kind for at, kind in _TYPES.items() if at in line)
        if not types or (module, name) in _TYPES or self._is_abstract(line):
            return None
        return PluginClass(module, name, types, self._version(module, name))

    def _is_abstract(self, line: Sequence[Name]) -> bool:
        """Whether a method is abstract in the first class that defines it, or a connector has no tasks."""
        decided: set[str] = set()
        own = [at for at in line if not at[0].startswith(_API)]
        if _CONNECTORS & {_TYPES.get(at) for at in line} and not any(self.class_of(*at).members & _TASKS for at in own):
            return True
        for at in dict.fromkeys(line):
            cls = self.class_of(*at)
            if cls.abstract - decided:
                return True
            decided |= cls.members
        return False

    # versions

    def _version(self, module: str, name: str) -> str | None:
        """The version that version() returns, else `__version__` of the module or of its top-level package."""
        try:
            line = list(self.ancestors(module, name))
        except UndecidedError:
            line = [(module, name)]
        for at in line:
            version = self.class_of(*at).version
            if version is not None and not at[0].startswith(_API):
                text = self._text(at[0], version, 0)
                if text is not None:
                    return text
                break
        for owner in (module, module.partition(".")[0]):
            text = self._text(owner, Version(name="__version__"), 0)
            if text is not None:
                return text
        return None

    def _text(self, module: str, version: Version, depth: int) -> str | None:
        if version.distribution is not None:
            return self._distribution_version(version.distribution)
        source = self.source_or_none(module) if version.name is not None and depth < DEPTH else None
        if source is None or version.name is None:
            return version.text
        first, _, rest = version.name.partition(".")
        if not rest and first in source.constants:
            return self._text(module, source.constants[first], depth + 1)
        if first not in source.imports:
            return None
        target, attribute = source.imports[first]
        if attribute is None or rest:
            owner = target if attribute is None else f"{target}.{attribute}"
            return self._text(owner, Version(name=rest), depth + 1) if rest else None
        return self._text(target, Version(name=attribute), depth + 1)

    def _all_names(self, module: str, source: ModuleSource, depth: int) -> Iterator[str]:
        yield from source.names
        for star in source.stars if depth < DEPTH else ():
            other = self.source_or_none(star) if star != module else None
            if other is not None:
                yield from other.exported or self._all_names(star, other, depth + 1)


def default_version(types: Sequence[PluginType]) -> str:
    """The version of a plugin that states none: connectors inherit one, other plugins have none, as in Connect."""
    connector = {PluginType.SINK, PluginType.SOURCE} & set(types)
    return CONNECT_VERSION if connector else "undefined"
