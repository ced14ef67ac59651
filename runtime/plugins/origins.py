"""The origin of plugins: bundled, an environment, a jar, or the file or folder of a Python module."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.registry import PluginRegistry


def details(registry: PluginRegistry) -> Iterator[tuple[PluginType, Plugin, str]]:
    """Type, plugin and origin of each listed plugin, in the order of GET /connector-plugins. A Java class that is in
    several locations occurs once for each."""
    for kind in PluginType:
        entries = [entry for entry in registry.entries(connectors_only=False) if entry["type"] == kind]
        for cls, version in dict.fromkeys((entry["class"], entry["version"]) for entry in entries):
            for plugin in registry.candidates(cls, (kind,)):
                if plugin.version == version:
                    yield kind, plugin, origin(plugin, registry.plugin_path)


def origin(plugin: Plugin, folders: Sequence[str]) -> str:
    """ "bundled", the environment, the jar, or the file or folder of the top-level module."""
    if plugin.target.startswith("runtime."):
        return "bundled"
    if plugin.language == "java":
        return plugin.file
    if plugin.environment:
        return f"environment {plugin.environment}"
    for folder in map(Path, folders):
        for path in (folder / plugin.package, folder / f"{plugin.package}.py"):
            if path.exists():
                return str(path)
    spec = importlib.util.find_spec(plugin.package)
    if spec is None or spec.origin is None:
        return plugin.package
    file = Path(spec.origin)
    return str(file.parent if file.name == "__init__.py" else file)
