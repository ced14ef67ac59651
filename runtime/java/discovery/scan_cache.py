"""Keeps the plugins of a location in a file, which is valid while paths, sizes and times of its jars stay the same."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runtime import CONNECT_VERSION
from runtime.java.discovery.java_plugin import JavaPlugin, JavaPluginType

_log = logging.getLogger(__name__)
_FORMAT = 3
"""Raised when discovery would find other plugins in the same jars."""


class ScanCache:
    """One file for each location in this folder, which several processes may share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, location: Path, class_path: Sequence[Path]) -> list[JavaPlugin] | None:
        """The plugins that were found before; None if there is no result for the present files."""
        try:
            stored = json.loads(self._file(location).read_bytes())
            if stored["state"] != state_of(class_path):
                return None
            return [_plugin(location, entry) for entry in stored["plugins"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, location: Path, class_path: Sequence[Path], plugins: Sequence[JavaPlugin]) -> None:
        """Replaces the result. A folder that cannot be written costs time, nothing else."""
        file = self._file(location)
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps({"state": state_of(class_path), "plugins": [_entry(p) for p in plugins]}))
            fresh.replace(file)
        except OSError as error:
            _log.debug("the plugins of %s are not cached: %s", location, error)
            with suppress(OSError):
                fresh.unlink(missing_ok=True)

    def update(self, location: Path, class_path: Sequence[Path], change: Callable[[JavaPlugin], JavaPlugin]) -> None:
        """Change each plugin of a location whose result is valid."""
        plugins = self.find(location, class_path)
        if plugins is not None:
            self.store(location, class_path, [change(plugin) for plugin in plugins])

    def _file(self, location: Path) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(location)).hexdigest()[:24]}.json"


def state_of(class_path: Sequence[Path]) -> list[Any]:
    """Changes when a file of these jars or class folders changes in path, size or time. Raises OSError."""
    files: list[Path] = []
    for path in class_path:
        files += sorted(path.rglob("*")) if path.is_dir() else [path]
    stats = [(str(file), file.stat()) for file in files]
    return [_FORMAT, CONNECT_VERSION, *([name, stat.st_size, stat.st_mtime_ns] for name, stat in stats)]


def _entry(plugin: JavaPlugin) -> dict[str, Any]:
    return {
        "class": plugin.cls, "types": plugin.types, "version": plugin.version, "certain": plugin.version_is_certain,
        "jar": str(plugin.jar), "services": plugin.service_types,
        "worker_classes": plugin.worker_classes,
    }  # fmt: skip


def _plugin(location: Path, entry: dict[str, Any]) -> JavaPlugin:
    return JavaPlugin(
        entry["class"], tuple(map(JavaPluginType, entry["types"])), entry["version"], entry["certain"], location,
        Path(entry["jar"]), tuple(map(JavaPluginType, entry["services"])),
        tuple(entry["worker_classes"]),
    )  # fmt: skip
