"""Unpacks plugin archives, and refuses entries that would be written elsewhere."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from runtime.java.install.errors import InstallError

Entry = tuple[str, IO[bytes] | None]
"""Name and content; None for a folder."""

MAX_ENTRIES = 100_000
_CHUNK = 1 << 20


def unpack(archive: Path, target: Path, largest: int, most_entries: int = MAX_ENTRIES) -> None:
    """Writes the content of a tar.gz or zip file, of at most `largest` bytes, into a new folder, without a single
    folder around all of it. Entries that are neither files nor folders are refused, links among them: what they point
    to may change while the archive is unpacked.

    Raises InstallError.
    """
    target.mkdir()
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as file:
                _write_all(archive, target, largest, most_entries, _of_zip(file))
        else:
            with tarfile.open(archive, "r|gz") as tar:
                _write_all(archive, target, largest, most_entries, _of_tar(archive, tar))
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise InstallError(f"{archive.name} cannot be unpacked: {error}") from error
    _lift(target)


def _of_zip(file: zipfile.ZipFile) -> Iterator[Entry]:
    for entry in file.infolist():
        yield entry.filename, None if entry.is_dir() else file.open(entry)


def _of_tar(archive: Path, tar: tarfile.TarFile) -> Iterator[Entry]:
    for entry in tar:
        if not (entry.isfile() or entry.isdir()):
            raise InstallError(f"{archive.name} is refused: its entry {entry.name!r} is neither a file nor a folder")
        yield entry.name, tar.extractfile(entry)


def _write_all(archive: Path, target: Path, largest: int, most_entries: int, entries: Iterable[Entry]) -> None:
    left = largest
    for number, (name, content) in enumerate(entries):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise InstallError(f"{archive.name} is refused: its entry {name!r} is outside the plugin's folder")
        if number >= most_entries:
            raise InstallError(f"{archive.name} is refused: it has more than {most_entries:,} entries")
        place = target / path
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with content, place.open("wb") as file:
            while data := content.read(_CHUNK):
                left -= len(data)
                if left < 0:
                    raise InstallError(f"{archive.name} is refused: its content is larger than {largest:,} bytes")
                file.write(data)


def _lift(target: Path) -> None:
    """Moves the content of the only folder up, so that the plugin's folder has its jars."""
    children = list(target.iterdir())
    if len(children) == 1 and children[0].is_dir() and not children[0].is_symlink():
        inner = children[0].rename(target / ".unpacked")
        for child in list(inner.iterdir()):
            child.rename(target / child.name)
        inner.rmdir()
