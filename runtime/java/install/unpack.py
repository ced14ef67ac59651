"""Unpacks plugin archives, and refuses entries that would be written elsewhere."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from runtime.java.install.errors import InstallError


def unpack(archive: Path, target: Path) -> None:
    """Writes the content of a tar.gz or zip file into a new folder, without a single folder around all of it.

    Raises InstallError.
    """
    target.mkdir()
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, target)
        else:
            with tarfile.open(archive, "r:gz") as file:
                file.extractall(target, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise InstallError(f"{archive.name} cannot be unpacked: {error}") from error
    _lift(target)


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise InstallError(f"{archive.name} is refused: its entry {name!r} is outside the plugin's folder")
        file.extractall(target)


def _lift(target: Path) -> None:
    """Moves the content of the only folder up, so that the plugin's folder has its jars."""
    children = list(target.iterdir())
    if len(children) == 1 and children[0].is_dir() and not children[0].is_symlink():
        inner = children[0].rename(target / ".unpacked")
        for child in list(inner.iterdir()):
            child.rename(target / child.name)
        inner.rmdir()
