"""Plugin locations: what Connect finds below the elements of `plugin.path`, and the archives of each.

A location is a folder with the jars of one plugin, at any depth, or a single jar. An element of `plugin.path` is a
folder of locations, or one jar.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

_log = logging.getLogger(__name__)
_ARCHIVES = (".jar", ".zip")


def plugin_locations(plugin_path: Sequence[str]) -> list[Path]:
    """All locations, in the order of `plugin.path`, then by name; each once."""
    paths: dict[Path, None] = {}
    for element in plugin_path:
        path = Path(os.path.abspath(element))  # noqa: PTH100 - Path.absolute() keeps the dots of "../plugins"
        if path.is_dir():
            try:
                children = sorted(path.iterdir())
            except OSError as error:
                _log.error("plugin.path: %s cannot be listed: %s", path, error)
                continue
            paths |= dict.fromkeys(child for child in children if _may_be_location(child))
        elif is_archive(path):
            paths[path] = None
    return list(paths)


def class_path(location: Path) -> list[Path]:
    """The archives of a location, sorted; the location itself if it contains class files and no archive."""
    if is_archive(location):
        return [location] if location.is_file() else []
    archives: set[Path] = set()
    has_classes = False
    seen: set[Path] = set()
    folders = [location]
    while folders:
        folder = folders.pop()
        if (real := folder.resolve()) in seen:
            continue  # links that form a circle
        seen.add(real)
        for child in _children(folder):
            if is_archive(child):
                archives.add(child.resolve() if child.is_symlink() else child)
            elif child.is_dir():
                folders.append(child.resolve() if child.is_symlink() else child)
            elif child.suffix.lower() == ".class":
                has_classes = True
    if has_classes and not archives:
        return [location]
    if has_classes:
        _log.warning("plugin.path: %s has jars and class files; only the jars are used", location)
    return sorted(archives)


def is_archive(path: Path) -> bool:
    """By its name, as Connect decides."""
    return path.name.lower().endswith(_ARCHIVES)


def _may_be_location(path: Path) -> bool:
    return is_archive(path) or path.is_dir() or path.suffix.lower() == ".class"


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        _log.warning("plugin.path: %s is ignored: %s", folder, error)
        return []
