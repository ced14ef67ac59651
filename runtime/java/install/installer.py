"""Installs a plugin as a folder in `plugin.path`, complete or not at all."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from runtime.java.discovery.java_plugin import JavaPlugin
from runtime.java.discovery.locations import class_path
from runtime.java.discovery.scan import scan_location
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.resolver import Repositories, resolve
from runtime.java.install.unpack import unpack
from runtime.system.process_folder import work_folder

_RECORD = "headrace-plugin.json"


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin's folder and the plugins in it. `is_new` is False if it was there before."""

    folder: Path
    plugins: Sequence[JavaPlugin]
    is_new: bool


def install(
    coordinate: Coordinate,
    into: Path,
    *,
    repositories: Repositories | None = None,
    progress: TextIO | None = None,
) -> Installed:
    """Installs the plugin into its own folder below `into`, an element of `plugin.path`.

    Does nothing if this coordinate is installed already. Raises InstallError, JavaError and JarsError.
    """
    folder = into / coordinate.folder_name
    if folder.exists():
        return Installed(folder, _existing(folder, coordinate), is_new=False)
    repositories = repositories or Repositories()
    files = resolve(coordinate, repositories, progress or sys.stderr)
    try:
        into.mkdir(parents=True, exist_ok=True)
        with work_folder(_staging(into)) as work:  # removes what a killed installation has left
            fresh = work / coordinate.folder_name
            plugins = _prepare(fresh, coordinate, files, repositories.largest)
            fresh.rename(folder)
    except OSError as error:
        raise InstallError(f"{coordinate} could not be installed in {folder}: {error}") from error
    moved = [replace(plugin, location=folder, jar=folder / plugin.jar.relative_to(fresh)) for plugin in plugins]
    return Installed(folder, moved, is_new=True)


def _staging(into: Path) -> Path:
    """Where the folder is prepared: outside plugin.path, where no worker looks, if it can be renamed from there."""
    parent = into.resolve().parent
    outside = os.access(parent, os.W_OK) and parent.stat().st_dev == into.stat().st_dev
    return parent if outside else into


def _prepare(fresh: Path, coordinate: Coordinate, files: Sequence[Path], largest: int) -> list[JavaPlugin]:
    if coordinate.is_archive:
        unpack(files[0], fresh, largest)
    else:
        fresh.mkdir()
        for file in files:
            _copy(file, fresh, coordinate)
    plugins = scan_location(fresh, class_path(fresh))
    if not plugins:
        raise InstallError(f"{coordinate} contains no plugin: name the artifact of the connector itself")
    record = {"coordinate": str(coordinate), "jars": sorted(path.name for path in class_path(fresh))}
    (fresh / _RECORD).write_text(json.dumps(record, indent=2) + "\n")
    return plugins


def _copy(file: Path, folder: Path, coordinate: Coordinate) -> None:
    if file.suffix != ".jar":
        return  # a dependency on something that is not code
    target = folder / file.name
    if target.exists():
        raise InstallError(f"{coordinate} needs two different files named {file.name}: use its plugin archive instead")
    shutil.copyfile(file, target)


def _existing(folder: Path, coordinate: Coordinate) -> list[JavaPlugin]:
    try:
        recorded = json.loads((folder / _RECORD).read_bytes()).get("coordinate")
    except (OSError, ValueError, AttributeError):
        recorded = None
    if recorded != str(coordinate):
        owner = f"contains {recorded}" if recorded else "was not installed by this command"
        raise InstallError(f"{coordinate} is not installed: {folder} exists and {owner}; move or remove it")
    return scan_location(folder, class_path(folder))
