"""Installs a plugin as a folder in `plugin.path`, complete or not at all."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from runtime.java.discovery.java_plugin import JavaPlugin
from runtime.java.discovery.locations import class_path
from runtime.java.discovery.scan import scan_location
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.local_archive import LocalArchive
from runtime.java.install.record import PluginRecord, named
from runtime.java.install.resolver import Repositories, resolve, versions
from runtime.java.install.unpack import unpack
from runtime.system.process_folder import work_folder

Source = Coordinate | LocalArchive

_WORKERS = re.compile(r"(kafka-clients|connect-api|connect-runtime|slf4j-(api|simple|reload4j|log4j12|nop))-\d.*\.jar")
"""Jars of which plugins get the worker's classes, whatever their folder contains."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin's folder and the plugins in it. `is_new` is False if it was there before. `left_out`: jars of an archive
    whose classes plugins get from the worker."""

    folder: Path
    plugins: Sequence[JavaPlugin]
    is_new: bool
    left_out: Sequence[str] = ()


def install(
    source: Source,
    into: Path,
    *,
    repositories: Repositories | None = None,
    progress: TextIO | None = None,
    expected: Mapping[str, str] | None = None,
) -> Installed:
    """Installs the plugin into its own folder below `into`, an element of `plugin.path`. `expected`: the jars that it
    must have, as SHA-256 by path.

    Does nothing if this source is installed already. Raises InstallError, JavaError and JarsError.
    """
    folder = into / source.folder_name
    if folder.exists():
        return Installed(folder, _existing(folder, source, expected), is_new=False)
    repositories = repositories or Repositories()
    files = [source.file] if isinstance(source, LocalArchive) else resolve(source, repositories, progress or sys.stderr)
    try:
        into.mkdir(parents=True, exist_ok=True)
        with work_folder(_staging(into)) as work:  # removes what a killed installation has left
            fresh = work / source.folder_name
            left_out = _fill(fresh, source, files, repositories.largest)
            plugins = _checked(fresh, source, expected)
            fresh.rename(folder)
    except OSError as error:
        raise InstallError(f"{source} could not be installed in {folder}: {error}") from error
    moved = [replace(plugin, location=folder, jar=folder / plugin.jar.relative_to(fresh)) for plugin in plugins]
    return Installed(folder, moved, is_new=True, left_out=left_out)


def remove(name: str, into: Path) -> Path:
    """Removes the folder of a plugin that this program has installed, and returns it. Raises InstallError."""
    folder, _ = named(name, into)
    try:
        with work_folder(_staging(into)) as work:  # it disappears from plugin.path in one step
            folder.rename(work / folder.name)
    except OSError as error:
        raise InstallError(f"{folder} could not be removed: {error}") from error
    return folder


def _staging(into: Path) -> Path:
    """Where the folder is prepared: outside plugin.path, where no worker looks, if it can be renamed from there."""
    parent = into.resolve().parent
    outside = os.access(parent, os.W_OK) and parent.stat().st_dev == into.stat().st_dev
    return parent if outside else into


def _fill(fresh: Path, source: Source, files: Sequence[Path], largest: int) -> list[str]:
    """Writes the jars of the plugin, and returns the names of those that were left out."""
    if isinstance(source, Coordinate) and not source.is_archive:
        fresh.mkdir()
        for file in files:
            _copy(file, fresh, source)
        return []
    unpack(files[0], fresh, largest)
    jars = [jar for jar in class_path(fresh) if _WORKERS.fullmatch(jar.name)]
    for jar in jars:
        jar.unlink()
    return sorted(jar.name for jar in jars)


def _checked(fresh: Path, source: Source, expected: Mapping[str, str] | None) -> list[JavaPlugin]:
    plugins = scan_location(fresh, class_path(fresh))
    if not plugins:
        raise InstallError(f"{source} contains no plugin: name the artifact of the connector itself")
    record = PluginRecord.of(fresh, str(source))
    if expected is not None:
        record.require(expected)
    record.write(fresh)
    return plugins


def _copy(file: Path, folder: Path, source: Source) -> None:
    if file.suffix != ".jar":
        return  # a dependency on something that is not code
    target = folder / file.name
    if target.exists():
        raise InstallError(f"{source} needs two different files named {file.name}: use its plugin archive instead")
    shutil.copyfile(file, target)


def _existing(folder: Path, source: Source, expected: Mapping[str, str] | None) -> list[JavaPlugin]:
    record = PluginRecord.read(folder)
    if record is None or record.source != str(source):
        owner = f"contains {record.source}" if record else "was not installed by this command"
        raise InstallError(f"{source} is not installed: {folder} exists and {owner}; move or remove it")
    if expected is not None:
        PluginRecord.of(folder, record.source).require(expected)
    return scan_location(folder, class_path(folder))


_PRELIMINARY = re.compile(r"(?i)[-.](alpha|beta|rc|cr|ea|m|snapshot|preview)[-.]?\d*($|[-.])")


@dataclass(frozen=True, slots=True)
class Updated:
    """`removed` is None if the plugin has the wanted version already."""

    installed: Installed
    coordinate: Coordinate
    removed: Path | None


def update(
    name: str, into: Path, version: str | None, *, repositories: Repositories, progress: TextIO | None = None
) -> Updated:
    """Installs this version, or the newest release, and then removes the present one. Raises as install()."""
    folder, record = named(name, into)
    try:
        present = Coordinate.parse(record.source)
    except InstallError:
        raise InstallError(
            f"{folder.name} was installed from the file {record.source}: install the file of the other version, "
            f"then remove {folder.name}"
        ) from None
    wanted = replace(present, version=version or _newest(present, repositories, progress or sys.stderr))
    done = install(wanted, into, repositories=repositories, progress=progress)
    return Updated(done, wanted, None if wanted == present else remove(folder.name, into))


def _newest(present: Coordinate, repositories: Repositories, progress: TextIO) -> str:
    """The newest release; the present version if the repository has only older or preliminary ones."""
    known = versions(present, repositories, progress)
    later = known[known.index(present.version) + 1 :] if present.version in known else known
    return next((text for text in reversed(later) if not _PRELIMINARY.search(text)), present.version)
