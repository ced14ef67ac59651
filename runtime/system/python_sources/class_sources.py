"""Class statements and their base classes, found across the modules of packages. Nothing is imported."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import logging
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from runtime.system.python_sources.module_source import ClassSource, ModuleSource, UnreadableSourceError, read_module

_log = logging.getLogger(__name__)

DEPTH = 40  # of imports that are followed to a definition

Name = tuple[str, str]
"""A module, and the name of a class in it."""


class UndecidedError(Exception):
    """What a class is cannot be determined from sources."""


class ClassSources:
    """Reads modules in the folders of `path`, in that order."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = list(path)
        self._modules: dict[str, ModuleSource | None] = {}
        self._files: dict[str, tuple[Path | None, list[str]]] = {}

    def file(self, module: str) -> Path | None:
        """The file that an import of this module would load; None if there is none. The folder of a namespace."""
        file, folders = self._located(module)
        return file or (Path(folders[0]) if folders else None)

    def ancestors(self, module: str, name: str, depth: int = 0) -> Iterator[Name]:
        """The class and its base classes, in an order that is near enough to Python's."""
        yield module, name
        if depth > DEPTH:
            return
        for base in self.class_of(module, name).bases:
            if base is None:
                raise UndecidedError("a base class is the result of an expression")
            at = self.definition(module, base)
            if at is not None:
                yield from self.ancestors(*at, depth + 1)
            elif not hasattr(builtins, base):
                raise UndecidedError(f"the source of its base class {base} cannot be found")

    def class_of(self, module: str, name: str) -> ClassSource:
        if _is_standard(module):
            return ClassSource((), frozenset(), frozenset(), None)
        source = self.source_or_none(module)
        assert source is not None
        return source.classes[name]

    def definition(self, module: str, dotted: str, depth: int = 0) -> Name | None:
        """Where the class of this name is defined, following imports; None if that cannot be found."""
        if _is_standard(module):
            return module, dotted  # not read: no plugin type is defined there
        source = self.source_or_none(module) if depth < DEPTH else None
        if source is None:
            return None
        first, _, rest = dotted.partition(".")
        follow = partial(self.definition, depth=depth + 1)
        if first in source.classes:
            return None if rest else (module, first)
        if first in source.imports:
            target, attribute = source.imports[first]
            if attribute is None:
                return self._in_package(target, rest, depth)
            followed = follow(target, f"{attribute}.{rest}" if rest else attribute)
            return followed or (self._in_package(f"{target}.{attribute}", rest, depth) if rest else None)
        if first in source.aliases and source.aliases[first] != first:
            return follow(module, f"{source.aliases[first]}.{rest}" if rest else source.aliases[first])
        return next((at for star in source.stars if (at := follow(star, dotted)) is not None), None)

    def _in_package(self, module: str, rest: str, depth: int) -> Name | None:
        """The class that the attribute path `rest` of a module names, which may lead through submodules."""
        if not rest:
            return None
        definition = self.definition(module, rest, depth + 1)
        first, _, more = rest.partition(".")
        return definition or (
            self._in_package(f"{module}.{first}", more, depth + 1) if more and depth < DEPTH else None
        )

    def source_or_none(self, module: str) -> ModuleSource | None:
        try:
            return self.source(module)
        except UnreadableSourceError as error:
            _log.debug("The source of %s cannot be read: %s", module, error)
            return None

    def source(self, module: str) -> ModuleSource | None:
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
