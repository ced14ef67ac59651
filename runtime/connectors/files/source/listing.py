"""Finds the files of a task: those that match the pattern, divided among the tasks by their paths."""

from __future__ import annotations

import logging
import re
import time
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.connectors.files.folder_store import FileError, FileSelection, FolderStore, ListedFile
from runtime.connectors.files.formats import format_of
from runtime.connectors.files.source.definition import FilesSourceSettings

if TYPE_CHECKING:
    import regex


_log = logging.getLogger(__name__)


class FileListing:
    """Lists the files that one task reads, in the configured order."""

    def __init__(
        self, store: FolderStore, settings: FilesSourceSettings, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._settings, self._wall_clock = store, settings, wall_clock
        self._matches = path_matcher(settings)
        self._enters = folder_matcher(settings)
        self._own: dict[str, bool] = {}  # by the paths of the last listing: a match takes longer than a listed file
        self._reported: frozenset[str] = frozenset()

    def files(self) -> list[ListedFile]:
        """The files that exist now and are old enough."""
        newest = self._wall_clock() * 1000 - self._settings.minimum_age
        waits = self._settings.minimum_age > 0
        files = [
            file for file in self._selected() if not (waits and file.modified is not None and file.modified > newest)
        ]
        if self._settings.by_time:
            return sorted(files, key=lambda file: (file.modified or 0, file.path))
        return sorted(files, key=lambda file: file.path)

    def _selected(self) -> list[ListedFile]:
        before, own = self._own, dict[str, bool]()
        errors: list[FileError] = []

        def is_own(path: str) -> bool:
            known = before.get(path)
            own[path] = mine = self._is_own(path) if known is None else known
            return mine

        files = self._store.list_files(FileSelection(is_own, self._enters, errors.append))
        self._own = own
        for error in errors:
            if not self._settings.skips:
                raise error
            if str(error) not in self._reported:
                _log.error("%s. Skipping it", error)
        self._reported = frozenset(map(str, errors))
        return files

    def _is_own(self, path: str) -> bool:
        return self._matches(path) and task_of(path, self._settings.tasks) == self._settings.task


def task_of(path: str, tasks: int) -> int:
    """The number of the task that reads a file."""
    return zlib.crc32(path.encode("utf-8", "surrogateescape")) % tasks


def path_matcher(settings: FilesSourceSettings) -> Callable[[str], bool]:
    """Whether a path, relative to the folder, is one of a file to read. Names that start with a dot are not."""
    pattern = _compiled(settings)

    def matches(path: str) -> bool:
        if any(part.startswith(".") for part in path.split("/")):
            return False
        matches = LimitedMatch(settings.pattern, compiled=pattern)(path)
        return matches and (settings.format is not None or format_of(path) is not None)

    return matches


def folder_matcher(settings: FilesSourceSettings) -> Callable[[str], bool]:
    """Whether files to read may be below a nested folder, by its path."""
    pattern = _compiled(settings)

    def matches(path: str) -> bool:
        if path.rpartition("/")[2].startswith("."):
            return False
        return LimitedMatch(settings.pattern, compiled=pattern).begins(f"{path}/")

    return matches


def _compiled(settings: FilesSourceSettings) -> regex.Pattern[str]:
    import regex  # by tasks of this connector only

    return regex.compile(_regex(settings.pattern), regex.DOTALL)  # names may have line breaks


def _regex(pattern: str) -> str:
    """A glob pattern as a regular expression for the whole path."""
    made, position = "", 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            made, position = made + "(?:.*/)?", position + 3
        elif pattern.startswith("**", position):
            made, position = made + ".*", position + 2
        else:
            made += {"*": "[^/]*", "?": "[^/]"}.get(pattern[position], re.escape(pattern[position]))
            position += 1
    return made
