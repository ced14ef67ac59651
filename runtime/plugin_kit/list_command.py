"""`headrace plugin list`: the plugins that a worker finds, with type, version and origin. Nothing is imported."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime.config import properties
from runtime.plugin_kit.errors import KitUsageError
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.registry import BUNDLED, PluginRegistry

_Row = dict[str, str]


def list_plugins(folders: Sequence[str], own_only: bool, as_json: bool) -> int:
    """Prints the plugins of a worker with this `plugin.path`; `own_only`: those that are not bundled."""
    rows = list(_rows(PluginRegistry(folders), own_only))
    if as_json:
        print(json.dumps(rows, indent=2))
        return 0
    if not rows:
        print("No plugins besides the bundled ones.")
        return 0
    wide = max(len(row["class"]) for row in rows)
    versions = max(len(row["version"]) for row in rows)
    for kind in PluginType:
        of_kind = [row for row in rows if row["type"] == kind]
        if of_kind:
            print(f"\n{kind}")
        for row in of_kind:
            print(f"  {row['class']:<{wide}}  {row['version']:<{versions}}  {row['from']}")
    return 0


def worker_path(file: Path) -> list[str]:
    """The `plugin.path` in a worker's properties file."""
    try:
        text = properties.load(file).get("plugin.path", "")
    except properties.PropertiesError as error:
        raise KitUsageError(str(error)) from None
    return split_path(text)


def split_path(text: str) -> list[str]:
    """The folders of a `plugin.path`."""
    return [folder.strip() for folder in text.split(",") if folder.strip()]


def _rows(registry: PluginRegistry, own_only: bool) -> Iterator[_Row]:
    bundled = {cls for cls, _, _ in BUNDLED}
    for kind in PluginType:
        for entry in registry.entries(connectors_only=False):
            if entry["type"] != kind:
                continue
            found = [p for p in registry.candidates(entry["class"], (kind,)) if p.version == entry["version"]]
            for plugin in found:
                if own_only and plugin.cls in bundled:
                    continue
                yield {**entry, "from": "bundled" if plugin.cls in bundled else _origin(plugin, registry.plugin_path)}


def _origin(plugin: Plugin, folders: Sequence[str]) -> str:
    """The environment, or the file or folder of the top-level module."""
    if plugin.environment:
        return f"environment {plugin.environment}"
    for folder in map(Path, folders):
        for found in (folder / plugin.package, folder / f"{plugin.package}.py"):
            if found.exists():
                return str(found)
    spec = importlib.util.find_spec(plugin.package)
    if spec is None or spec.origin is None:
        return plugin.package
    origin = Path(spec.origin)
    return str(origin.parent if origin.name == "__init__.py" else origin)
