"""Finds plugin classes, their types and versions in sources, across the modules of packages. Nothing is imported."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runtime import CONNECT_VERSION
from runtime.plugins.module_source import ClassSource, ModuleSource, UnreadableSourceError, Version, read_module
from runtime.plugins.plugin import PluginType

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
_MARKS = {"config_def", "task_class", "task_configs", "from_connect", "to_connect", "from_connect_header"}
"""Members by which a class is taken for a plugin although one of its base classes cannot be read."""

_DEPTH = 40  # of imports that are followed to a definition

Name = tuple[str, str]
"""A module, and the name of a class in it."""


@dataclass(frozen=True, slots=True)
class PluginClass:
    """A plugin class as its source defines it. `version` is None if the source does not state it."""

    module: str
    name: str
    types: tuple[PluginType, ...]
    version: str | None


class UndecidedError(Exception):
    """The type of a class cannot be determined from sources."""


class ClassFinder:
    """Reads modules in the folders of `path`, in that order. `distribution_version` returns the version of an installed
    distribution."""

    def __init__(self, path: Sequence[str], distribution_version: Callable[[str], str | None]) -> None:
        self._path, self._distribution_version = list(path), distribution_version
        self._modules: dict[str, ModuleSource | None] = {}
        self._files: dict[str, tuple[Path | None, list[str]]] = {}

    def file(self, module: str) -> Path | None:
        """The file that an import of this module would load; None if there is none. The folder of a namespace."""
        file, folders = self._located(module)
        return file or (Path(folders[0]) if folders else None)

    def exported(self, module: str) -> Iterator[PluginClass]:
        """The plugin classes among the names of a module that are defined in it or in its submodules.
        UnreadableSourceError if the module itself cannot be read."""
        source = self._source(module)
        found: dict[Name, None] = {}
        for name in [] if source is None else self._all_names(module, source, 0):
            at = None if name.startswith("_") else self._definition(module, name)
            if at is not None and f"{at[0]}.".startswith(f"{module}."):
                found[at] = None
        for at in found:
            try:
                plugin = self._plugin(*at)
            except UndecidedError as error:
                if self._class(*at).members & _MARKS:
                    _log.warning("%s.%s is not listed as a plugin: %s", *at, error)
                continue
            if plugin is not None:
                yield plugin

    def plugin(self, module: str, name: str) -> PluginClass:
        """The plugin class of this name. UndecidedError, also for a class that is not a plugin."""
        at = self._definition(module, name)
        if at is None:
            raise UndecidedError(f"no class statement for {name} was found in the source of {module}")
        found = self._plugin(*at)
        if found is None:
            raise UndecidedError(f"{'.'.join(at)} is abstract, or not derived from a plugin type of runtime.api")
        return found

    def declared(self, module: str, name: str, kind: PluginType) -> PluginClass:
        """A class whose type is declared elsewhere; its source need not be readable."""
        at = self._definition(module, name)
        return PluginClass(module, name, (kind,), None) if at is None else PluginClass(*at, (kind,), self._version(*at))

    def _plugin(self, module: str, name: str) -> PluginClass | None:
        line = list(self._ancestors(module, name))
        types = tuple(kind for at, kind in _TYPES.items() if at in line)
        if not types or (module, name) in _TYPES or self._is_abstract(line):
            return None
        return PluginClass(module, name, types, self._version(module, name))

    def _ancestors(self, module: str, name: str, depth: int = 0) -> Iterator[Name]:
        """The class and its base classes, in an order that is near enough to Python's."""
        yield module, name
        if depth > _DEPTH:
            return
        for base in self._class(module, name).bases:
            if base is None:
                raise UndecidedError("a base class is the result of an expression")
            at = self._definition(module, base)
            if at is not None:
                yield from self._ancestors(*at, depth + 1)
            elif not hasattr(builtins, base):
                raise UndecidedError(f"the source of its base class {base} cannot be found")

    def _is_abstract(self, line: Sequence[Name]) -> bool:
        """Whether a method is abstract in the first class that defines it."""
        decided: set[str] = set()
        for at in dict.fromkeys(line):
            cls = self._class(*at)
            if cls.abstract - decided:
                return True
            decided |= cls.members
        return False

    def _class(self, module: str, name: str) -> ClassSource:
        if _is_standard(module):
            return ClassSource((), frozenset(), frozenset(), None)
        source = self._source_or_none(module)
        assert source is not None
        return source.classes[name]

    # versions

    def _version(self, module: str, name: str) -> str | None:
        """The version that version() returns, else `__version__` of the module or of its top-level package."""
        try:
            line = list(self._ancestors(module, name))
        except UndecidedError:
            line = [(module, name)]
        for at in line:
            version = self._class(*at).version
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
        source = self._source_or_none(module) if version.name is not None and depth < _DEPTH else None
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

    # names

    def _definition(self, module: str, dotted: str, depth: int = 0) -> Name | None:
        """Where the class of this name is defined, following imports; None if that cannot be found."""
        if _is_standard(module):
            return module, dotted  # not read: no plugin type is defined there
        source = self._source_or_none(module) if depth < _DEPTH else None
        if source is None:
            return None
        first, _, rest = dotted.partition(".")
        follow = partial(self._definition, depth=depth + 1)
        if first in source.classes:
            return None if rest else (module, first)
        if first in source.imports:
            target, attribute = source.imports[first]
            if attribute is None:
                return self._in_package(target, rest, depth)
            found = follow(target, f"{attribute}.{rest}" if rest else attribute)
            return found or (self._in_package(f"{target}.{attribute}", rest, depth) if rest else None)
        if first in source.aliases and source.aliases[first] != first:
            return follow(module, f"{source.aliases[first]}.{rest}" if rest else source.aliases[first])
        return next((at for star in source.stars if (at := follow(star, dotted)) is not None), None)

    def _in_package(self, module: str, rest: str, depth: int) -> Name | None:
        """The class that the attribute path `rest` of a module names, which may lead through submodules."""
        if not rest:
            return None
        found = self._definition(module, rest, depth + 1)
        first, _, more = rest.partition(".")
        return found or (self._in_package(f"{module}.{first}", more, depth + 1) if more and depth < _DEPTH else None)

    def _all_names(self, module: str, source: ModuleSource, depth: int) -> Iterator[str]:
        yield from source.names
        for star in source.stars if depth < _DEPTH else ():
            other = self._source_or_none(star) if star != module else None
            if other is not None:
                yield from other.exported or self._all_names(star, other, depth + 1)

    # modules

    def _source_or_none(self, module: str) -> ModuleSource | None:
        try:
            return self._source(module)
        except UnreadableSourceError as error:
            _log.debug("The source of %s cannot be read: %s", module, error)
            return None

    def _source(self, module: str) -> ModuleSource | None:
        """None for a module without source, such as an extension module."""
        if module not in self._modules:
            file, folders = self._located(module)
            self._modules[module] = None  # if reading raises
            if file is not None and file.suffix == ".py":
                self._modules[module] = read_module(file, module, bool(folders))
        return self._modules[module]

    def _located(self, module: str) -> tuple[Path | None, list[str]]:
        """The file of a module, and the folders of its submodules."""
        if module not in self._files:
            parent, _, _ = module.rpartition(".")
            spec = None
            try:
                if parent:
                    spec = importlib.machinery.PathFinder.find_spec(module, self._located(parent)[1])
                else:
                    spec = importlib.machinery.PathFinder.find_spec(module, self._path)
                    spec = spec or importlib.util.find_spec(module)  # editable installations
            except (ImportError, ValueError, AttributeError, OSError, UnicodeError) as error:
                _log.debug("Module %s cannot be located: %s", module, error)
            self._files[module] = _file_and_folders(spec)
        return self._files[module]


def _file_and_folders(spec: importlib.machinery.ModuleSpec | None) -> tuple[Path | None, list[str]]:
    if spec is None:
        return None, []
    file = Path(spec.origin) if spec.origin and spec.has_location else None
    return file, list(spec.submodule_search_locations or ())


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def default_version(types: Sequence[PluginType]) -> str:
    """The version of a plugin that states none: connectors inherit one, other plugins have none, as in Connect."""
    connector = {PluginType.SINK, PluginType.SOURCE} & set(types)
    return CONNECT_VERSION if connector else "undefined"
