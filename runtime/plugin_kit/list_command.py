"""`headrace plugin list`: the plugins that a worker finds, with type, version, language and origin. Nothing is
imported, and no JVM is started."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime.config import properties
from runtime.plugin_kit.errors import KitUsageError
from runtime.plugins.origins import details
from runtime.plugins.plugin import PluginType
from runtime.plugins.registry import PluginRegistry

_Row = dict[str, str]


def list_plugins(folders: Sequence[str], own_only: bool, as_json: bool) -> int:
    """Prints the plugins of a worker with this `plugin.path`; `own_only`: those that are not bundled."""
    registry = PluginRegistry(folders)
    for conflict in registry.conflicts:
        print(conflict, file=sys.stderr)
    rows = list(_rows(registry, own_only))
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
            print(f"  {row['class']:<{wide}}  {row['version']:<{versions}}  {row['language']:<6}  {row['from']}")
    return 0


def worker_path(file: Path) -> list[str]:
    """The `plugin.path` in a worker's properties file."""
    try:
        text = properties.load(file).get("plugin.path", "")
    except properties.PropertiesError as error:
        raise KitUsageError(str(error)) from None
    return properties.comma_separated(text)


def _rows(registry: PluginRegistry, own_only: bool) -> Iterator[_Row]:
    for kind, plugin, origin in details(registry):
        if not own_only or origin != "bundled":
            yield {
                "class": plugin.cls,
                "type": kind.value,
                "version": plugin.version,
                "language": plugin.language,
                "from": origin,
            }
