"""A lock file: the plugins of a folder with the checksums of all jars, to install the same ones elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import Installed, install
from runtime.java.install.local_archive import LocalArchive
from runtime.java.install.record import PluginRecord, installed
from runtime.java.install.resolver import Repositories


def lock(into: Path, file: Path) -> list[PluginRecord]:
    """Writes the plugins that this program has installed in this folder of `plugin.path`. Raises InstallError."""
    records = []
    try:
        for folder, record in installed(into):
            present = PluginRecord.of(folder, record.source)
            if record.jars and present.jars != record.jars:
                raise InstallError(f"{folder} has been changed since its installation: remove and install it again")
            records.append(present)
        content = {"plugins": [{"coordinate": record.source, "sha256": record.jars} for record in records]}
        file.write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise InstallError(f"{file} cannot be written: {error}") from error
    return records


def install_locked(
    file: Path, into: Path, repositories: Repositories, progress: TextIO | None = None
) -> Iterator[tuple[str, Installed]]:
    """Installs each plugin of a lock file, with exactly its jars; archives are read from the folder of the lock file.
    Raises as install()."""
    for record in _read(file):
        archive = LocalArchive.parse(str(file.parent / record.source)) if ":" not in record.source else None
        source = archive or Coordinate.parse(record.source)
        yield record.source, install(source, into, repositories=repositories, progress=progress, expected=record.jars)


def _read(file: Path) -> list[PluginRecord]:
    try:
        plugins = json.loads(file.read_bytes())["plugins"]
        return [PluginRecord(str(plugin["coordinate"]), dict(plugin["sha256"])) for plugin in plugins]
    except OSError as error:
        raise InstallError(f"{file} cannot be read: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InstallError(f"{file} is not a lock file of headrace plugin lock: {error!r}") from error
