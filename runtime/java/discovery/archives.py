"""Reads the entries of jars, and of folders with class files, as fast as Python can."""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

_LOCAL_HEADER = 30
_MAX_ENTRY = 64 << 20  # bytes; a thousandth of it may be enough to fill the memory otherwise
_MANIFEST = "META-INF/MANIFEST.MF"
_SERVICES = "META-INF/services/"


class UnreadableArchiveError(Exception):
    """The archive is damaged or cannot be opened."""


class Archive:
    """The open entries of one jar or class folder; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = path.is_dir()
        self._entries: dict[str, ZipInfo] = {}
        self._bytes: mmap.mmap | None = None

    def __enter__(self) -> Archive:
        if not self._folder:
            try:
                with ZipFile(self.path) as file:
                    # A name that occurs twice is the last one, as for Java's class loader.
                    self._entries = {entry.filename: entry for entry in file.infolist()}
                with self.path.open("rb") as handle:
                    self._bytes = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, BadZipFile, ValueError) as error:
                raise UnreadableArchiveError(f"{self.path} cannot be read: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._bytes is not None:
            self._bytes.close()

    def classes(self) -> Iterator[tuple[str, bytes]]:
        """Entry name and content of each class; classes for particular Java versions are left out."""
        for name in self._names():
            if name.endswith(".class") and not name.startswith("META-INF/") and not name.endswith("-info.class"):
                yield name, self.read(name)

    def services(self) -> Iterator[tuple[str, str]]:
        """Interface and class name of each declared service provider."""
        for name in self._names():
            interface = name.removeprefix(_SERVICES)
            if name.startswith(_SERVICES) and interface and "/" not in interface:
                for line in self.read(name).decode("utf-8", "replace").splitlines():
                    if provider := line.partition("#")[0].strip():
                        yield interface, provider

    def manifest(self) -> dict[str, str]:
        """The main attributes of the manifest; empty without one."""
        if _MANIFEST not in self._names():
            return {}
        return _main_attributes(self.read(_MANIFEST).decode("utf-8", "replace"))

    def read(self, name: str) -> bytes:
        """The content of an entry. Raises UnreadableArchiveError."""
        if self._bytes is None:
            return (self.path / name).read_bytes()
        entry = self._entries[name]
        start = entry.header_offset
        lengths = self._bytes[start + 26 : start + _LOCAL_HEADER]
        start += _LOCAL_HEADER + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        content = self._bytes[start : start + entry.compress_size]
        if entry.compress_type != ZIP_DEFLATED:
            return content
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            inflated = inflate.decompress(content, _MAX_ENTRY)
        except zlib.error as error:
            raise UnreadableArchiveError(f"{name} in {self.path} is damaged: {error}") from error
        if not inflate.eof:
            raise UnreadableArchiveError(f"{name} in {self.path} is damaged, or has more than {_MAX_ENTRY:,} bytes")
        return inflated

    def _names(self) -> dict[str, ZipInfo] | list[str]:
        if self._folder:
            return sorted(
                os.path.relpath(os.path.join(parent, file), self.path)  # noqa: PTH118 - text in, text out
                for parent, _, files in os.walk(self.path)
                for file in files
            )
        return self._entries


def _main_attributes(manifest: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    last = ""
    for line in manifest.splitlines():
        if not line:
            break  # other sections describe single entries
        if line.startswith(" ") and last:
            attributes[last] += line[1:]
        else:
            last, _, value = line.partition(":")
            attributes[last] = value.strip()
    return attributes
