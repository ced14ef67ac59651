"""Lists the plugins in `plugin.path` and in installed distributions, without importing Python or starting a JVM."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.java.discovery.locations import is_archive
from runtime.model.environment import Environment
from runtime.plugins import environments
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.class_finder import ClassFinder, PluginClass, default_version
from runtime.plugins.java_plugins import BY_DEFAULT, JavaDiscovery, java_plugins
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.wheels import BrokenEnvironmentError
from runtime.system.python_sources.class_sources import UndecidedError
from runtime.system.python_sources.module_source import UnreadableSourceError

GROUP = "headrace.plugins"
FUNCTIONS = "headrace.functions"
"""The group of entry points that declare modules with functions of users."""


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
        self.function_modules: dict[str, None] = {}
        """Modules that are declared to have functions of users."""
        for distribution in importlib.metadata.distributions(path=self._path):
            try:
                self._add(distribution)
            except Exception as error:  # damaged metadata of one distribution
                _log.warning("The metadata of a distribution cannot be read: %r", error)

    def _add(self, distribution: importlib.metadata.Distribution) -> None:
        """The metadata is parsed only if there are entry points of the group, since that takes a millisecond."""
        text = distribution.read_text("entry_points.txt") or ""
        if f"[{FUNCTIONS}]" in text:
            self.function_modules.update({p.module: None for p in distribution.entry_points if p.group == FUNCTIONS})
        if f"[{GROUP}]" not in text:
            return
        version = self.version(distribution.name)  # of the first one on the path, which is imported
        for point in distribution.entry_points:
            if point.group == GROUP and version == distribution.version:
                self._entry_points.setdefault((point.name, point.value), (point, version))

    def version(self, name: str) -> str | None:
        distribution = next(iter(importlib.metadata.distributions(name=name, path=self._path)), None)
        return None if distribution is None else distribution.version

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


_log = logging.getLogger(__name__)


def scan(
    folders: Sequence[str],
    cache: Path | None = None,
    discovery: JavaDiscovery = BY_DEFAULT,
) -> PluginCatalog:
    """All plugins. Logs and skips modules that cannot be read and environments that are incomplete. `cache` is the
    folder of unpacked wheels.

    Raises MissingServiceEntryError for Java plugins."""
    importlib.invalidate_caches()
    installed = Distributions()
    finder = ClassFinder([*sys.path, *(folder for folder in folders if folder not in sys.path)], installed.version)
    plugins = [_plugin(declared.plugin, "", _revision(finder, declared.plugin), declared.version)
               for declared in installed.plugins(finder)]  # fmt: skip
    modules = [_module(name, "", _state(finder, name)) for name in installed.function_modules]
    by_id: dict[str, Environment] = {}
    for folder in map(Path, folders):
        if _is_usable(folder):
            for module in _modules(folder, finder):
                plugins += _in_module(module, folder, finder)
                modules.append(_module(module, "", _state(finder, module)))
            for environment in _environments(folder, cache):
                by_id[environment.id] = environment
                plugins += _in_environment(environment)
                modules += [_module(name, environment.id, environment.id) for name in _top_level(environment)]
    plugins += java_plugins(folders, discovery)
    return PluginCatalog(tuple(plugins), by_id, tuple(modules))


def _is_usable(folder: Path) -> bool:
    if not folder.is_dir() and not (is_archive(folder) and folder.is_file()):
        _log.error("plugin.path: %s is neither a folder nor a jar", folder)
    if wheels := sorted(wheel.name for wheel in folder.glob("*.whl")):
        _log.warning("plugin.path: move %s in %s to a subfolder, an environment", ", ".join(wheels), folder)
    return folder.is_dir()


def _modules(folder: Path, finder: ClassFinder) -> Iterator[str]:
    """The modules and packages in a folder, which use the worker's own libraries."""
    for module in pkgutil.iter_modules([str(folder)]):
        origin = finder.file(module.name)
        if origin is None or not origin.resolve().is_relative_to(folder.resolve()):
            _log.error(
                "plugin.path: %s in %s is ignored because this name is imported from %s",
                module.name, folder, origin or "elsewhere",
            )  # fmt: skip
            continue
        yield module.name


def _in_module(module: str, folder: Path, finder: ClassFinder) -> Iterator[Plugin]:
    for plugin in _exported(finder, module, folder):
        yield _plugin(plugin, "", _revision(finder, plugin), None)


def _top_level(environment: Environment) -> list[str]:
    """The modules and packages of an environment."""
    return [module.name for module in pkgutil.iter_modules(environment.folders)]


def _module(name: str, environment: str, revision: str) -> Plugin:
    return Plugin(name, name, (), "undefined", False, environment, revision)


def _environments(folder: Path, cache: Path | None) -> Iterator[Environment]:
    for inner in sorted(folder.iterdir()):
        if environments.is_environment(inner):
            try:
                yield environments.prepare(inner, cache)
            except BrokenEnvironmentError as error:
                _log.error("plugin.path: the plugin environment %s is ignored: %s", inner, error)


def _in_environment(environment: Environment) -> list[Plugin]:
    """The plugins that distributions of an environment declare; without declarations, those of all its modules."""
    distributions = Distributions(environment.folders)
    finder = ClassFinder([*environment.folders, *sys.path], distributions.version)
    plugins: list[tuple[PluginClass, str | None]] = []
    if distributions.declare_plugins:
        plugins += [(declared.plugin, declared.version) for declared in distributions.plugins(finder)]
    else:
        for folder in environment.folders:
            for module in pkgutil.iter_modules([folder]):
                plugins += [(plugin, None) for plugin in _exported(finder, module.name, Path(folder))]
    if not plugins:
        _log.warning(
            "plugin.path: there are no plugins in the environment %s, only functions for headrace.PythonUdf",
            environment.id,
        )
    return [_plugin(plugin, environment.id, environment.id, version) for plugin, version in plugins]


def _exported(finder: ClassFinder, module: str, folder: Path) -> list[PluginClass]:
    try:
        return list(finder.exported(module))
    except UnreadableSourceError as error:
        _log.error("plugin.path: %s in %s is not listed: %s", module, folder, error)
        return []


def _plugin(plugin: PluginClass, environment: str, revision: str, version: str | None) -> Plugin:
    """`version` is that of the distribution, for classes that state none."""
    return Plugin(
        f"{plugin.module}.{plugin.name}",
        f"{plugin.module}:{plugin.name}",
        plugin.types,
        plugin.version or version or default_version(plugin.types),
        environment=environment,
        revision=revision,
    )


def _revision(finder: ClassFinder, plugin: PluginClass) -> str:
    return _state(finder, plugin.module)


def _state(finder: ClassFinder, module: str) -> str:
    """Changes when any file of the top-level module changes."""
    top, _, _ = module.partition(".")
    file = finder.file(top)
    if file is None:
        return ""
    try:
        return environments.state_of(file.parent if file.name == "__init__.py" else file)
    except OSError:
        return ""
