"""Checks of what Java plugins need: the jars and classes of their JVMs, and the folders of `plugin.path`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtime.config import properties
from runtime.doctor.check_result import CheckResult, bad, note, ok
from runtime.java.discovery.java_plugin import JavaPlugin, JavaPluginType
from runtime.java.discovery.locations import class_path, is_archive, plugin_locations
from runtime.java.discovery.scan import MissingServiceEntryError, PluginDiscovery, scan
from runtime.java.discovery.worker_classes import refused, supports
from runtime.java.host.install import HOST
from runtime.java.jvm import jars
from runtime.system.cache import cache_folder

_PREPARE = "the first Java plugin that is used downloads them (30 MB)"


def check_java_plugins(worker: Path | None) -> Iterator[CheckResult]:
    """The jars of the JVMs; with a worker's properties file also its `plugin.path`."""
    yield _jars()
    if worker is None:
        return
    try:
        props = properties.load(worker)
    except properties.PropertiesError as error:
        yield bad("worker", str(error), "name the properties file of a worker")
        return
    elements = properties.comma_separated(props.get("plugin.path", ""))
    yield from _elements(elements)
    yield from _plugins(elements, props.get("plugin.discovery", PluginDiscovery.HYBRID_WARN).strip().lower())


def _jars() -> CheckResult:
    folder = jars.folder_of("java-host", HOST)
    if not folder.is_dir():
        return note("jars", "of JVMs for plugins: not downloaded", _PREPARE)
    compiled = list((cache_folder() / "java-host").glob("glue-*.jar"))
    state = "compiled" if compiled else "compiled when the first Java plugin is used"
    return ok("jars", f"of JVMs for plugins: {folder}; their classes are {state}")


def _elements(elements: list[str]) -> Iterator[CheckResult]:
    for element in map(Path, elements):
        if not element.exists():
            yield bad("plugins", f"plugin.path: {element} does not exist", "create it, or remove it from plugin.path")
        elif not element.is_absolute():
            yield note("plugins", f"plugin.path: {element} is relative to the worker's folder", "use an absolute path")
        elif element.is_dir() and any(is_archive(child) for child in element.iterdir()):
            yield note(
                "plugins",
                f"plugin.path: {element} contains jars, each of which is a plugin of its own",
                "if they belong together, name the folder above in plugin.path",
            )


def _plugins(elements: list[str], discovery: str) -> Iterator[CheckResult]:
    try:
        installed = scan(elements, PluginDiscovery(discovery), cache_folder() / "java-plugins")
    except MissingServiceEntryError as error:
        yield bad("plugins", "plugin.path", str(error))
        return
    except ValueError:
        values = ", ".join(PluginDiscovery)
        yield bad("plugins", f"plugin.discovery={discovery}", f"choose from {values}")
        return
    by_location: dict[Path, list[JavaPlugin]] = {location: [] for location in plugin_locations(elements)}
    for plugin in installed:
        by_location.setdefault(plugin.location, []).append(plugin)
    for location, plugins in by_location.items():
        if class_path(location):
            yield _location(location, plugins)


def _location(location: Path, plugins: list[JavaPlugin]) -> CheckResult:
    if not plugins:
        return note("plugins", f"{location} has jars without plugins", "check that the connector's own jar is there")
    if without := {plugin.cls: names for plugin in plugins if (names := refused(plugin.worker_classes))}:
        reasons = "; ".join(f"{cls} uses {', '.join(names)}" for cls, names in without.items())
        return bad("plugins", f"{location}: {reasons}", "Headrace does not have these classes of Apache's worker")
    extensions = [plugin.cls for plugin in plugins if JavaPluginType.REST_EXTENSION in plugin.types]
    shown = f"{location}: {len(plugins)} Java plugins"
    if extensions:
        return note("plugins", f"{shown}, with REST extensions", f"{', '.join(extensions)} cannot run in Headrace")
    if used := sorted({name for plugin in plugins for name in plugin.worker_classes}):
        shown += f"; used of Apache's worker: {', '.join(f'{name} ({text})' for name, text in supports(used).items())}"
    return ok("plugins", shown)
