"""The files that a task has listed, and how far each of them has been read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from runtime.connectors.files.folder_store import ListedFile
from runtime.connectors.files.source.cursor import FileCursor


class Progress(Enum):
    """What is left to do with a file that has not changed since it was listed."""

    UNREAD = auto()
    READ = auto()  # read to its momentary end, before it was finished
    FINAL = auto()  # read to its end, and finished
    SKIPPED = auto()  # unreadable, also if it changes


@dataclass(slots=True)
class FollowedFile:
    """A file as it was last listed. It is unchanged since `since`, in seconds of a monotonic clock."""

    file: ListedFile
    cursor: FileCursor
    since: float
    progress: Progress = Progress.UNREAD


class FollowedFiles:
    """By their paths. A file is finished when it has not been modified for `finished_after` seconds."""

    def __init__(self, finished_after: float, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        self._after, self._clock, self._wall_clock = finished_after, clock, wall_clock
        self._files: dict[str, FollowedFile] = {}

    def unknown(self, files: Iterable[ListedFile]) -> list[ListedFile]:
        """Those that have not been added."""
        return [file for file in files if file.path not in self._files]

    def add(self, file: ListedFile, cursor: FileCursor) -> None:
        """Follows a file, which has been read up to a cursor."""
        self._files[file.path] = FollowedFile(file, cursor, self._clock())

    def get(self, path: str) -> FollowedFile:
        """A file that has been added."""
        return self._files[path]

    def forget(self, path: str) -> None:
        """Follows a file no longer; another of its name is a new one."""
        self._files.pop(path, None)

    def due(self, files: Iterable[ListedFile]) -> Iterator[FollowedFile]:
        """Those of the listed files of which something is left to do."""
        for file in files:
            followed = self._files[file.path]
            if file != followed.file:
                followed.file, followed.since = file, self._clock()
                if followed.progress is not Progress.SKIPPED:
                    followed.progress = Progress.UNREAD
            if followed.progress is Progress.UNREAD or (
                followed.progress is Progress.READ and self.is_finished(followed)
            ):
                yield followed

    def is_finished(self, followed: FollowedFile) -> bool:
        """Whether no more is expected to be written to the file, by its time or, where clocks differ or there is no
        time, by the time for which it has been seen unchanged."""
        modified = followed.file.modified
        age = None if modified is None else self._wall_clock() - modified / 1000
        return (age is not None and age >= self._after) or self._clock() - followed.since >= self._after
