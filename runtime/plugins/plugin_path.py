"""Finds Python plugins in the folders of `plugin.path` by importing the top-level modules and packages there."""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from runtime.api.connector import SinkConnector, SourceConnector
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.transformation import Predicate, Transformation
from runtime.plugins.plugin import Plugin, PluginType

_log = logging.getLogger(__name__)

_BASES: tuple[tuple[type, PluginType], ...] = (
    (SinkConnector, PluginType.SINK),
    (SourceConnector, PluginType.SOURCE),
    (Converter, PluginType.CONVERTER),
    (HeaderConverter, PluginType.HEADER_CONVERTER),
    (Transformation, PluginType.TRANSFORMATION),
    (Predicate, PluginType.PREDICATE),
)

_JARS = ("*.jar", "*/*.jar", "*/lib/*.jar")
"""Patterns of the files of Java plugins."""


def scan(folders: Sequence[str]) -> list[Plugin]:
    """The plugins in all folders. Logs and skips modules that cannot be imported."""
    return [plugin for folder in folders for plugin in _of_folder(Path(folder), folders)]


def import_module(name: str, folders: Sequence[str]) -> ModuleType:
    """Imports a module by name. These folders are searched last, so that they cannot replace installed modules."""
    if missing := [folder for folder in folders if folder not in sys.path]:
        sys.path.extend(missing)
        importlib.invalidate_caches()
    return importlib.import_module(name)


def _of_folder(folder: Path, folders: Sequence[str]) -> Iterator[Plugin]:
    if folder.suffix == ".jar" or any(next(folder.glob(pattern), None) for pattern in _JARS):
        _log.warning("plugin.path: Java plugins in %s are ignored, this worker runs Python plugins only", folder)
    elif not folder.is_dir():
        _log.error("plugin.path: %s is not a folder", folder)
    for found in pkgutil.iter_modules([str(folder)]):
        module = _imported(found.name, folder, folders)
        if module is not None:
            yield from _plugins_in(module)


def _imported(name: str, folder: Path, folders: Sequence[str]) -> ModuleType | None:
    try:
        module = import_module(name, folders)
    except BaseException as error:  # third-party code: SystemExit and the like must not end the scan either
        _log.error("plugin.path: %s in %s cannot be imported: %r", name, folder, error, exc_info=error)
        return None
    origin = Path(getattr(module, "__file__", None) or "")
    if not origin.resolve().is_relative_to(folder.resolve()):
        _log.error("plugin.path: %s in %s is ignored because this name is imported from %s", name, folder, origin)
        return None
    return module


def _plugins_in(module: ModuleType) -> Iterator[Plugin]:
    for cls in list(vars(module).values()):
        if not isinstance(cls, type) or inspect.isabstract(cls) or not _defined_under(module, cls):
            continue
        if kinds := tuple(kind for base, kind in _BASES if issubclass(cls, base)):
            where, name = cls.__module__, cls.__qualname__
            yield Plugin(f"{where}.{name}", f"{where}:{name}", kinds, _version(cls))


def _defined_under(module: ModuleType, cls: type) -> bool:
    return f"{cls.__module__}.".startswith(f"{module.__name__}.")


def _version(cls: type) -> str:
    """The plugin's version; "undefined", as in Connect, if it has none or version() fails."""
    try:
        return str(cls().version()) if hasattr(cls, "version") else "undefined"
    except BaseException as error:  # third-party code
        _log.error("plugin.path: cannot read the version of %s: %r", cls.__qualname__, error)
        return "undefined"
