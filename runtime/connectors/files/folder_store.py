"""A folder on a file system: lists, reads, writes, moves and deletes its files.

Paths are relative to the folder. A file appears under its name only when it is complete: on a disk it is synced and
then renamed, in an object store it is uploaded as a whole.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from uuid import uuid4

from runtime.api.errors import ConnectError
from runtime.connectors.files.location import FSSPEC_OPTIONS, FileLocation
from runtime.system.allowed_folders import allowed_folders

_CHUNK = 8 * 1024 * 1024
_SECRETS = ("secret", "token", "key", "password")
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})  # deleted meanwhile, or a link to nothing
_CONNECT_TIMEOUT, _REQUEST_TIMEOUT = 10, 60  # seconds
TEMPORARY_SUFFIX = ".part"
"""Suffix of the name, which also starts with a dot, under which a file on a disk is written. The name is different for
each write."""


class FileError(ConnectError):
    """A file or folder cannot be read or written; the message names it and contains no secrets."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a listing. `modified` is in milliseconds since 1970, None if the file system does not tell."""

    path: str
    size: int
    modified: int | None


def _fail(error: FileError) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Which files are listed, by their paths, and on a disk which nested folders are read. `unreadable` gets the error
    of each file or nested folder on a disk that cannot be listed, by default raises it."""

    file: Callable[[str], bool] = lambda _: True
    folder: Callable[[str], bool] = lambda _: True
    unreadable: Callable[[FileError], None] = _fail


class FolderStore:
    """The files below a location. Thread-safe."""

    def __init__(self, location: FileLocation) -> None:
        import pyarrow.fs

        self.location = location
        self._secrets = list(_secrets(location.options))
        self._arrow = pyarrow.fs
        with self._named(location.url, "open"):
            self._files, self._root = _file_system(location)
        self._attempt, self._writes = uuid4().hex[:12], count()
        self._allowed = allowed_folders()
        self.on_disk = location.kind == "local"
        self._mount = _mount_point(self._root) if self.on_disk else Path("/")
        self.longest_name = 255 if self.on_disk else None
        """The most bytes of the name of a file or folder; None if only the path is limited."""
        self.appears_whole = location.kind in ("s3", "gcs")
        """Whether a file is complete when it is listed, and changes only by being replaced."""

    def list_files(self, selection: FileSelection | None = None) -> list[ListedFile]:
        """The selected files below the folder, also in nested folders, except temporary ones and those that are reached
        by links out of the allowed folders; all files without a selection. Empty if the folder does not exist."""
        chosen = selection or FileSelection()
        with self._named(self.location.url, "list"):
            if self.on_disk:
                return list(self._on_disk(chosen))
            selector = self._arrow.FileSelector(self._root, allow_not_found=True, recursive=True)
            return [
                ListedFile(path, info.size or 0, info.mtime_ns and info.mtime_ns // 1_000_000)
                for info in self._files.get_file_info(selector)
                if info.is_file and not _temporary(info.base_name) and chosen.file(path := self._relative(info.path))
            ]

    def _on_disk(self, chosen: FileSelection) -> Iterator[ListedFile]:
        left: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
        while left:
            folder, above = left.pop()  # `above`: the folders on the way to this one, to which links may lead back
            place = Path(self._full(folder))
            try:
                status = place.stat()
                if (here := (status.st_dev, status.st_ino)) in above or not self._allowed.contains(place):
                    continue
                with os.scandir(place) as scan:
                    entries = list(scan)
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                if not folder:
                    raise
                chosen.unreadable(FileError(f"Cannot list {_printable(folder)}: {error}"))
                continue
            for entry in entries:
                path = folder + entry.name
                try:
                    if entry.is_dir():
                        if chosen.folder(path):
                            left.append((f"{path}/", above | {here}))
                    elif (file := self._entry(path, entry, chosen)) is not None:
                        yield file
                except OSError as error:
                    if error.errno not in _NOWHERE:
                        chosen.unreadable(FileError(f"Cannot list {_printable(path)}: {error}"))

    def _entry(self, path: str, entry: os.DirEntry[str], chosen: FileSelection) -> ListedFile | None:
        """The file of an entry on a disk; None if it is not to be listed. One call of the operating system."""
        if _temporary(entry.name) or not chosen.file(path):
            return None
        if not path.isascii() and (name := _printable(path)) != path:
            chosen.unreadable(FileError(f"Cannot list {self.location.url}: rename {name}, which is not UTF-8"))
            return None
        if entry.is_symlink() and not self._allowed.contains(entry.path):
            return None
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        return ListedFile(path, status.st_size, status.st_mtime_ns // 1_000_000)

    def find(self, path: str) -> ListedFile | None:
        """One file; None if it does not exist."""
        with self._named(path, "find"):
            info = self._files.get_file_info(self._full(path))
        if not info.is_file:
            return None
        return ListedFile(path, info.size or 0, info.mtime_ns and info.mtime_ns // 1_000_000)

    def is_unchanged(self, file: ListedFile) -> bool:
        """Whether the file exists as it was listed. Object stores give the time of one file in seconds."""
        current = self.find(file.path)
        if current is None or current.size != file.size:
            return False
        unit = 1000 if self.appears_whole else 1
        return (current.modified or 0) // unit == (file.modified or 0) // unit

    def open_file(self, path: str) -> Any:
        """The file for random access, as a pyarrow NativeFile."""
        with self._named(path, "open"):
            return self._opened(path, self._files.open_input_file)

    def open_stream(self, path: str, compression: str | None) -> Any:
        """The decompressed bytes of the file, as a pyarrow NativeFile."""
        with self._named(path, "open"):
            return self._opened(path, partial(self._files.open_input_stream, compression=compression))

    def read(self, path: str) -> bytes | None:
        """The content of a small file; None if it does not exist."""
        if self.find(path) is None:
            return None
        with self._named(path, "read"), self._opened(path, self._files.open_input_stream) as file:
            return bytes(file.read())

    def write(self, path: str, fill: Callable[[BinaryIO], None], check: Callable[[], None] = lambda: None) -> int:
        """Creates or replaces a file with the bytes that `fill` writes; returns its size. `check` is called before the
        file is published, and prevents that by an error."""
        place = f"{path} in {self.location.url}"
        with self._named(place, "write", (OSError,)):  # other errors come from `fill` and `check`
            return self._write_disk(path, fill, check) if self.on_disk else self._upload(path, fill, check)

    def remove_unfinished(self, folder: str, prefix: str) -> None:
        """Removes the temporary files that others have left in a folder on a disk, or are writing at this moment, for
        files whose names start with a prefix. Those that are being written will not be published."""
        own, place = f".{self._attempt}-", Path(self._full(folder))
        if not self.on_disk or not place.is_dir():
            return
        with self._named(folder, "remove temporary files in"), self._folder(place) as at:
            for name in [entry.name for entry in os.scandir(at)]:
                if name.startswith(f".{prefix}") and _temporary(name) and own not in name:
                    _unlink(name, at)

    def delete(self, path: str) -> None:
        """Deletes a file, if it exists."""
        with self._named(path, "delete"):
            if not self._files.get_file_info(self._full(path)).is_file:
                return
            if not self.on_disk:
                self._files.delete_file(self._full(path))
                return
            with self._folder(Path(self._full(path)).parent) as at:
                _unlink(PurePosixPath(path).name, at)

    def move(self, path: str, folder: str) -> None:
        """Moves a file to another folder of the same file system, under its relative path."""
        target = str(PurePosixPath(folder, path))
        with self._named(path, "move"):
            if not self.on_disk:
                self._files.create_dir(str(PurePosixPath(target).parent), recursive=True)
                self._files.move(self._full(path), target)
                return
            source, name = Path(self._full(path)).parent, PurePosixPath(path).name
            with self._folder(source) as before, self._folder(Path(target).parent, create=True) as after:
                os.rename(name, name, src_dir_fd=before, dst_dir_fd=after)

    def _write_disk(self, path: str, fill: Callable[[BinaryIO], None], check: Callable[[], None]) -> int:
        if not _is_mount(self._mount):  # the folder would be created on the disk below
            raise OSError(f"{self._mount} is not mounted any more")
        target = Path(self._full(path))
        temporary = f".{target.name}.{self._attempt}-{next(self._writes)}{TEMPORARY_SUFFIX}"
        with self._folder(target.parent, create=True) as folder:
            try:
                new = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with os.fdopen(os.open(temporary, new, 0o666, dir_fd=folder), "wb") as file:
                    fill(file)
                    file.flush()
                    os.fsync(file.fileno())
                    size = os.fstat(file.fileno()).st_size
                check()
                os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                _unlink(temporary, folder)
                raise
            os.fsync(folder)
        return size

    @contextmanager
    def _folder(self, path: Path, create: bool = False) -> Iterator[int]:
        """A descriptor of a folder on a disk, which stays the same whatever replaces it."""
        folder = self._allowed.open_folder(path, create)
        try:
            yield folder
        finally:
            os.close(folder)

    def _opened(self, path: str, open_file: Callable[[str], Any]) -> Any:
        """Opens a file through pyarrow; on a disk the file of a descriptor, after links have been checked."""
        if not self.on_disk:
            return open_file(self._full(path))
        file = self._allowed.open(self._full(path), os.O_RDONLY)
        try:
            return open_file(f"/dev/fd/{file}")
        finally:
            os.close(file)

    def _upload(self, path: str, fill: Callable[[BinaryIO], None], check: Callable[[], None]) -> int:
        """Uploads a complete local file: closing an unfinished upload would create an incomplete object."""
        with tempfile.TemporaryFile(prefix="headrace-") as file:
            fill(file)
            size = file.tell()
            file.seek(0)
            check()
            with self._files.open_output_stream(self._full(path)) as out:
                shutil.copyfileobj(file, out, _CHUNK)
        return size

    def _full(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    def _relative(self, full: str) -> str:
        return full.removeprefix(self._root.rstrip("/")).lstrip("/")

    @contextmanager
    def _named(
        self, path: str, action: str, kinds: tuple[type[Exception], ...] = (OSError, ValueError, ImportError)
    ) -> Iterator[None]:
        """Turns errors of the file system into FileError, without secrets."""
        try:
            yield
        except kinds as error:
            raise FileError(f"Cannot {action} {path}: {self._scrubbed(str(error))}") from None

    def _scrubbed(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        return text


def _secrets(options: Mapping[str, Any]) -> Iterator[str]:
    """The values of options that messages must not contain, among them every text in `fsspec.options`."""
    for name, value in options.items():
        if name == FSSPEC_OPTIONS:
            yield from (str(inner) for inner in json.loads(value).values() if isinstance(inner, str) and inner)
        elif any(part in name for part in _SECRETS):
            yield str(value)


def _mount_point(folder: str) -> Path:
    real = Path(os.path.realpath(folder))
    return next(place for place in (real, *real.parents) if _is_mount(place))


def _is_mount(place: Path) -> bool:
    """Whether a file system is mounted there; False if that cannot be read. The dot makes an automounter mount it."""
    return os.path.ismount(f"{place}/.")


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _printable(path: str) -> str:
    """A path in which bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(TEMPORARY_SUFFIX)


def _file_system(location: FileLocation) -> tuple[Any, str]:
    """The file system of a location, and the folder's path in it."""
    from pyarrow import fs

    options = location.options
    if location.kind == "local":
        return fs.LocalFileSystem(), location.folder
    if location.kind == "s3":
        return _s3(location), location.folder
    if location.kind == "gcs":
        endpoint = options.get("gcs.endpoint")
        scheme, _, host = endpoint.rpartition("://") if endpoint else ("", "", None)
        return fs.GcsFileSystem(
            anonymous=bool(options.get("gcs.anonymous")), endpoint_override=host, scheme=scheme or None
        ), location.folder
    if location.kind == "azure":
        return fs.AzureFileSystem(
            options.get("azure.account.name"),
            account_key=options.get("azure.account.key"),
            sas_token=options.get("azure.sas.token"),
        ), location.folder
    import fsspec

    files, root = fsspec.core.url_to_fs(location.url, **json.loads(options.get(FSSPEC_OPTIONS) or "{}"))
    return fs.PyFileSystem(fs.FSSpecHandler(files)), root


def _s3(location: FileLocation) -> Any:
    from pyarrow import fs

    options = location.options
    endpoint = options.get("s3.endpoint")
    scheme, _, host = endpoint.rpartition("://") if endpoint else ("", "", None)
    region = options.get("s3.region")
    if region is None and endpoint is None:
        region = fs.resolve_s3_region(location.folder.partition("/")[0])
    return fs.S3FileSystem(
        access_key=options.get("s3.access.key.id"),
        secret_key=options.get("s3.secret.access.key"),
        session_token=options.get("s3.session.token"),
        role_arn=options.get("s3.role.arn"),
        region=region,
        endpoint_override=host.rstrip("/") if host else None,
        scheme=scheme or "https",
        connect_timeout=_CONNECT_TIMEOUT,
        request_timeout=_REQUEST_TIMEOUT,
    )
