"""Files below allowed folders, opened so that no symbolic link leads elsewhere, whenever it is created.

A path is resolved first, so that links within the folders may be used. Then each part of the resolved path is opened
relative to the descriptor of the one before, without following links: a link that has replaced a part since then is an
error, instead of a way out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class OutsideError(PermissionError):
    """A path is below none of the allowed folders."""


class AllowedFolders:
    """Opens files; without folders, all files of the operating system's user. A folder may also be a single file."""

    def __init__(
        self, folders: Sequence[str | Path] = (), origin: str = "headrace.file.paths",
        resolve: Callable[[Path], Path] = Path.resolve,
    ) -> None:  # fmt: skip
        """`origin` is the name of the property with the folders, for errors; `resolve` follows the links of a path."""
        self._folders, self._origin = tuple(Path(folder).resolve() for folder in folders), origin
        self._resolve = resolve

    def contains(self, path: str | Path) -> bool:
        """Whether the path leads to an allowed file at this moment."""
        return not self._folders or self._folder_of(self._resolve(Path(path))) is not None

    @property
    def are_limited(self) -> bool:
        """Whether there are folders."""
        return bool(self._folders)

    def check(self, path: str | Path | None) -> None:
        """OutsideError unless contains(), for code that opens files by their names. None: a path that is unknown."""
        if self._folders and (path is None or not self.contains(path)):
            raise self._outside(path)

    def prepare(self, path: str | Path, create: bool) -> None:
        """Check a file that a library opens by its name. `create`: make an empty one if it is missing, so that the
        library creates none behind a link that is swapped afterwards. OSError, OutsideError included.

        The file is not opened: closing it would release the locks that others of this process have on it."""
        if not self._folders:
            return
        real, open_folder = self._below(path)
        folder = open_folder(real.parent)
        try:
            if create:
                with suppress(FileExistsError):
                    os.mknod(real.name, stat.S_IFREG | 0o644, dir_fd=folder)
            if stat.S_ISLNK(os.stat(real.name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        finally:
            os.close(folder)

    def open(self, path: str | Path, flags: int, mode: int = 0o644) -> int:
        """A descriptor of the file. OSError, OutsideError included."""
        if not self._folders:
            return os.open(path, flags | os.O_CLOEXEC, mode)
        real, open_folder = self._below(path)
        folder = open_folder(real.parent)
        try:
            return os.open(real.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
        finally:
            os.close(folder)

    def open_folder(self, path: str | Path, create: bool = False) -> int:
        """A descriptor of the folder, to open files relative to it. `create`: with all folders above, if missing."""
        if not self._folders:
            if create:
                Path(path).mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        real, open_folder = self._below(path)
        folder = open_folder(real, create=create)
        try:
            return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)

    def _below(self, path: str | Path) -> tuple[Path, Callable[..., int]]:
        """The resolved path, and a function that opens folders on the way to it."""
        real = self._resolve(Path(path))
        folder = self._folder_of(real)
        if folder is None:
            raise self._outside(path)
        return real, partial(_open_below, folder)

    def _outside(self, path: str | Path | None) -> OutsideError:
        return OutsideError(errno.EACCES, f"not below one of {self._origin}", *([] if path is None else [str(path)]))

    def _folder_of(self, real: Path) -> Path | None:
        return next((folder for folder in self._folders if real.is_relative_to(folder)), None)


def _open_below(allowed: Path, folder: Path, create: bool = False) -> int:
    """A descriptor of a folder below an allowed one, or of the folder of an allowed file."""
    if not folder.is_relative_to(allowed):
        return os.open(folder, _FOLDER)
    at = os.open(allowed, _FOLDER)
    for part in folder.relative_to(allowed).parts:
        try:
            below = _open_part(part, at, create)
        finally:
            os.close(at)
        at = below
    return at


def _open_part(name: str, folder: int, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # created meanwhile
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


_current = AllowedFolders()


def limit_files(folders: Sequence[str]) -> None:
    """Sets the folders of this process: those of `headrace.file.paths` of the worker that all its plugins belong to."""
    global _current
    _current = AllowedFolders(folders)


def allowed_folders() -> AllowedFolders:
    """The folders of this process; a process that does not belong to a worker has no limit."""
    return _current
