"""The classes of one plugin location, and their super types across its jars and Connect's own classes."""

from __future__ import annotations

import logging
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from runtime.java.discovery.class_file import ClassFile, ClassFormatError
from runtime.java.discovery.connect_api import FROM_WORKER, SUPER_TYPES, is_provided
from runtime.java.discovery.worker_classes import is_worker_class, named_in, reached_from

_LOCAL_HEADER = 30
_MAX_ENTRY = 64 << 20  # bytes; a thousandth of it may be enough to fill the memory otherwise
_MANIFEST = "META-INF/MANIFEST.MF"
_SERVICES = "META-INF/services/"


class UnreadableArchiveError(Exception):
    """The archive is damaged or cannot be opened."""


class Archive:
    """The open entries of one jar or class folder; use as a context manager."""

    def __init__(self, path: Path, largest_entry: int = _MAX_ENTRY) -> None:
        self.path, self._largest_entry = path, largest_entry
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
            inflated = inflate.decompress(content, self._largest_entry)
        except zlib.error as error:
            raise UnreadableArchiveError(f"{name} in {self.path} is damaged: {error}") from error
        if not inflate.eof:
            more = f"has more than {self._largest_entry:,} bytes"
            raise UnreadableArchiveError(f"{name} in {self.path} is damaged, or {more}")
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


_log = logging.getLogger(__name__)


class ClassEntry(NamedTuple):
    """Where a class is, and what it extends and implements."""

    archive: Archive
    entry: str
    parents: tuple[str, ...]


class ClassIndex:
    """All classes of these archives; of a class that occurs twice the first. Use as a context manager."""

    def __init__(self, class_path: Sequence[Path]) -> None:
        self._class_path = class_path
        self._open = ExitStack()
        self._classes: dict[str, ClassEntry] = {}
        self._ancestors: dict[str, frozenset[str]] = {}
        self._parsed: dict[str, ClassFile] = {}
        self._naming: dict[str, frozenset[str]] = {}
        self.services: list[tuple[str, str]] = []

    def __enter__(self) -> ClassIndex:
        for path in self._class_path:
            try:
                archive = self._open.enter_context(Archive(path))
                self.services += archive.services()
                self._read_classes(archive)
            except UnreadableArchiveError as error:
                _log.error("plugin.path: %s", error)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def names(self) -> Iterator[str]:
        return iter(self._classes)

    def archive_of(self, name: str) -> Archive:
        return self._classes[name].archive

    def parents(self, name: str) -> tuple[str, ...]:
        """The direct super class, if any, and the interfaces of a class; empty if the class is unknown."""
        if name in self._classes and name not in FROM_WORKER:
            return self._classes[name].parents
        return SUPER_TYPES.get(name, ())

    def ancestors(self, name: str) -> frozenset[str]:
        """All super classes and interfaces, also those whose class files are missing."""
        ancestors = self._ancestors.get(name)
        if ancestors is None:
            self._ancestors[name] = frozenset()  # ends a circle, which a damaged jar may contain
            parents = self.parents(name)
            ancestors = frozenset(parents).union(*(self.ancestors(parent) for parent in parents))
            self._ancestors[name] = ancestors
        return ancestors

    def missing(self, name: str) -> set[str]:
        """Super types that neither the location nor the worker has: the class cannot be loaded."""
        return {parent for parent in self.ancestors(name) if parent not in self._classes and not is_provided(parent)}

    def load(self, name: str) -> ClassFile | None:
        """The whole class file; None if the location does not contain it."""
        if name not in self._classes or name in FROM_WORKER:
            return None
        if name not in self._parsed:
            entry = self._classes[name]
            self._parsed[name] = ClassFile(entry.archive.read(entry.entry))
        return self._parsed[name]

    def worker_classes(self, name: str) -> tuple[str, ...]:
        """The classes of Apache's worker that this class uses, directly or through other classes in its jar and in jars
        that name such a class; libraries, with tens of thousands of classes, are not followed."""
        if not self._naming:
            return ()
        followed = {self._classes[name].archive, *(self._classes[naming].archive for naming in self._naming)}

        def read(used: str) -> ClassFile | None:
            entry = self._classes.get(used)
            return ClassFile(entry.archive.read(entry.entry)) if entry and entry.archive in followed else None

        return reached_from(name, self._naming, read)

    def _read_classes(self, archive: Archive) -> None:
        classes: Mapping[str, ClassEntry] = self._classes
        for entry, data in archive.classes():
            try:
                class_file = ClassFile(data)
            except ClassFormatError as error:
                _log.debug("%s in %s is ignored: %s", entry, archive.path, error)
                continue
            # A class in the wrong folder of a jar cannot be loaded.
            if class_file.name not in classes and entry == f"{class_file.name.replace('.', '/')}.class":
                parents = (
                    (class_file.super_name, *class_file.interfaces) if class_file.super_name else class_file.interfaces
                )
                self._classes[class_file.name] = ClassEntry(archive, entry, parents)
                if not is_worker_class(class_file.name) and (names := named_in(data)):
                    self._naming[class_file.name] = names
