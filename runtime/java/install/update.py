"""Replaces an installed plugin by another version."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import Installed, install, remove
from runtime.java.install.record import named
from runtime.java.install.resolver import Repositories, versions

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
