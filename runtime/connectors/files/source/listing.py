"""Finds the files of a task: those that match the pattern, divided among the tasks by their paths."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable

from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.connectors.files.folder_store import FolderStore, ListedFile
from runtime.connectors.files.formats import format_of
from runtime.connectors.files.source.definition import FilesSourceSettings


class FileListing:
    """Lists the files that one task reads, in the configured order."""

    def __init__(
        self, store: FolderStore, settings: FilesSourceSettings, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._settings, self._wall_clock = store, settings, wall_clock
        self._matches = path_matcher(settings)

    def files(self) -> list[ListedFile]:
        """The files that exist now and are old enough."""
        newest = self._wall_clock() * 1000 - self._settings.minimum_age
        waits = self._settings.minimum_age > 0
        files = [
            file
            for file in self._store.list_files()
            if self._is_own(file.path) and not (waits and file.modified is not None and file.modified > newest)
        ]
        if self._settings.by_time:
            return sorted(files, key=lambda file: (file.modified or 0, file.path))
        return sorted(files, key=lambda file: file.path)

    def _is_own(self, path: str) -> bool:
        return self._matches(path) and task_of(path, self._settings.tasks) == self._settings.task


def task_of(path: str, tasks: int) -> int:
    """The number of the task that reads a file."""
    return zlib.crc32(path.encode("utf-8", "surrogateescape")) % tasks


def path_matcher(settings: FilesSourceSettings) -> Callable[[str], bool]:
    """Whether a path, relative to the folder, is one of a file to read. Names that start with a dot are not."""
    import regex  # by tasks of this connector only

    pattern = regex.compile(_regex(settings.pattern), regex.DOTALL)  # names may have line breaks

    def matches(path: str) -> bool:
        if any(part.startswith(".") for part in path.split("/")):
            return False
        matches = LimitedMatch(settings.pattern, compiled=pattern)(path)
        return matches and (settings.format is not None or format_of(path) is not None)

    return matches


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
