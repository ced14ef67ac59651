"""The classes of one plugin location, and their super types across its jars and Connect's own classes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from runtime.java.discovery.archives import Archive, UnreadableArchiveError
from runtime.java.discovery.class_file import ClassFile, ClassFormatError
from runtime.java.discovery.connect_api import SUPER_TYPES, is_from_worker, is_provided

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
        if name in self._classes and not is_from_worker(name):
            return self._classes[name].parents
        return SUPER_TYPES.get(name, ())

    def ancestors(self, name: str) -> frozenset[str]:
        """All super classes and interfaces, also those whose class files are missing."""
        found = self._ancestors.get(name)
        if found is None:
            self._ancestors[name] = frozenset()  # ends a circle, which a damaged jar may contain
            parents = self.parents(name)
            found = frozenset(parents).union(*(self.ancestors(parent) for parent in parents))
            self._ancestors[name] = found
        return found

    def missing(self, name: str) -> set[str]:
        """Super types that neither the location nor the worker has: the class cannot be loaded."""
        return {parent for parent in self.ancestors(name) if parent not in self._classes and not is_provided(parent)}

    def load(self, name: str) -> ClassFile | None:
        """The whole class file; None if the location does not contain it."""
        if name not in self._classes or is_from_worker(name):
            return None
        if name not in self._parsed:
            found = self._classes[name]
            self._parsed[name] = ClassFile(found.archive.read(found.entry))
        return self._parsed[name]

    def _read_classes(self, archive: Archive) -> None:
        classes: Mapping[str, ClassEntry] = self._classes
        for entry, data in archive.classes():
            try:
                found = ClassFile(data)
            except ClassFormatError as error:
                _log.debug("%s in %s is ignored: %s", entry, archive.path, error)
                continue
            # A class in the wrong folder of a jar cannot be loaded.
            if found.name not in classes and entry == f"{found.name.replace('.', '/')}.class":
                parents = (found.super_name, *found.interfaces) if found.super_name else found.interfaces
                self._classes[found.name] = ClassEntry(archive, entry, parents)
